// What the runtime that evicts and recomputes has done: the same words from where it is counted to the
// report.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace stowage {

/// Since the runtime was installed. Durations are host time.
struct RuntimeCounters {
  std::uint64_t ops = 0;             ///< seen, composites not counted
  std::uint64_t recorded = 0;        ///< of these, ops with a recipe
  std::uint64_t evictions = 0;       ///< storages
  std::uint64_t restores = 0;        ///< storages
  std::uint64_t replays = 0;         ///< ops run again
  std::uint64_t ops_ns = 0;          ///< in the job's own ops
  std::uint64_t replay_ns = 0;       ///< in ops run again
  std::uint64_t replay_cost_ns = 0;  ///< what these take: on CUDA as modelled
  std::uint64_t offloads = 0;        ///< storages
  std::uint64_t fetches = 0;         ///< storages that were offloaded and came back
  std::uint64_t copy_ns = 0;         ///< in copies of both
  std::uint64_t copy_cost_ns = 0;  ///< what these take by the store's estimate, which each iteration repeats
  std::uint64_t search_ns = 0;     ///< choosing what to evict or to offload
  std::uint64_t rooms = 0;         ///< requests for room that freed something
  std::uint64_t refusals = 0;      ///< requests for room that freed nothing
  std::uint64_t verified = 0;      ///< recipes that were replayed at once and compared
  std::uint64_t compared = 0;      ///< restored storages that were compared with what was evicted
  std::uint64_t wrong = 0;         ///< of all these, those that differed
  std::uint64_t choices = 0;       ///< of forced evictions, carried out or not
  Bytes evicted{0};                ///< now
  Bytes evicted_total{0};          ///< ever
  Bytes offloaded{0};              ///< now
  Bytes offloaded_total{0};        ///< ever
  std::uint64_t encodings = 0;     ///< storages whose content is kept in fewer bytes, too
  Bytes encoded_total{0};          ///< ever, of these storages
  Bytes copied_total{0};           ///< ever, to a store: less, since what did not change is copied once

  /// Bytes of the job that are not in memory now.
  [[nodiscard]] Bytes away() const { return evicted + offloaded; }

  friend RuntimeCounters operator+(RuntimeCounters a, const RuntimeCounters& b) {
    a.ops += b.ops;
    a.recorded += b.recorded;
    a.evictions += b.evictions;
    a.restores += b.restores;
    a.replays += b.replays;
    a.ops_ns += b.ops_ns;
    a.replay_ns += b.replay_ns;
    a.replay_cost_ns += b.replay_cost_ns;
    a.offloads += b.offloads;
    a.fetches += b.fetches;
    a.copy_ns += b.copy_ns;
    a.copy_cost_ns += b.copy_cost_ns;
    a.search_ns += b.search_ns;
    a.rooms += b.rooms;
    a.refusals += b.refusals;
    a.verified += b.verified;
    a.compared += b.compared;
    a.wrong += b.wrong;
    a.choices += b.choices;
    a.evicted += b.evicted;
    a.evicted_total += b.evicted_total;
    a.offloaded += b.offloaded;
    a.offloaded_total += b.offloaded_total;
    a.encodings += b.encodings;
    a.encoded_total += b.encoded_total;
    a.copied_total += b.copied_total;
    return a;
  }
};

/// What became of schedules that were followed, in this process.
struct FollowCounters {
  std::uint64_t iterations = 0;  ///< followed to their end
  std::uint64_t resynced = 0;    ///< iterations that went on behind a few ops that differed
  std::uint64_t left = 0;        ///< iterations that differed in more
  std::uint64_t evictions = 0;   ///< and offloads, done as the schedule says
  std::uint64_t refused = 0;     ///< of the schedule, that were not possible
  std::uint64_t ops_hash = 0;    ///< of the ops of the present iteration so far
};

}  // namespace stowage
