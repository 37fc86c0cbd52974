// Everything the runtime owns, behind its one lock. For the files of this folder; the interface is
// recompute.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/runtime/runtime_counters.h"
#include "recompute/choice/evictor.h"
#include "recompute/choice/foreign_buffers.h"
#include "recompute/machine/options.h"
#include "recompute/machine/thrash_guard.h"
#include "recompute/residency/residency.h"
#include "recompute/schedule/step_watch.h"
#include "recompute/storage/storage_book.h"
#include "recompute/storage/use_history.h"
#include "recompute/threads/draw_watch.h"
#include "recompute/verify/findings.h"
#include "recompute/verify/forced_evictions.h"
#include "recompute/verify/restore_check.h"

namespace stowage::recompute {

struct Machine {
  std::recursive_mutex mutex;
  Options options;
  StorageBook book;
  Stores stores;
  Residency residency{book, stores};
  ForeignBuffers foreign;
  SignatureBook signatures;
  DrawWatch draws;
  UseHistory uses;
  Evictor evictor{book, residency, foreign, uses};
  StepWatch steps{book, residency};
  Findings findings;
  ForcedEvictions forced{book, residency, findings};
  RestoreCheck restores{findings};
  RuntimeCounters counters;  ///< what Residency does not count
  std::uint64_t op_number = 0;
  ThrashGuard thrash_guard;
  int running_ops = 0;                   ///< of all threads: calls whose ops run
  bool joins_expected = false;           ///< no thread can run ops without having joined
  bool watched_for_now = false;          ///< Runtime::watch_until_iteration_ends()
  std::atomic<bool> asks_source{false};  ///< recipes name the line of Python code that made them
  std::atomic<bool> on{false};
  std::atomic<bool> splits_ops{true}, reuses_gradients{true}, encodes{true};  ///< as `options` say
  /// By type of device: the most bytes that a part of an op on lists may need; 0: such ops run whole.
  std::array<std::atomic<std::uint64_t>, 2> part_bytes{};
  /// By type of device: the most bytes that the job may hold; 0: any number.
  std::array<std::atomic<std::uint64_t>, 2> limit_bytes{};

  /// From now on.
  void set_options(const Options& wanted);
  /// True if more was recomputed in the present window than options.thrash_limit allows.
  [[nodiscard]] bool thrashes() const;
  /// What was recomputed before does not count any more: a new limit deserves a judgement of its own.
  void forgive_thrashing() { thrash_guard.begin(op_number, residency.counts().replay_cost_ns); }
  /// After each op of the job's own, which made this many storages: forgets some dead storages, regularly
  /// sweeps, and judges thrashing anew.
  void tick(std::size_t made);
};

/// The one of the process; never destroyed.
Machine& machine();

}  // namespace stowage::recompute
