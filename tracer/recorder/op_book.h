// The ops of a recording: who is inside which op on which thread, what each op used and made, its workspace.
//
// Ops are numbered from 0 for ever; an OpId is that number modulo 2^32 - 1, which is unambiguous among those
// kept. Thread safety: none; the owner locks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace.h"
#include "tracer/recorder/buffer_book.h"
#include "tracer/recorder/log.h"
#include "tracer/recorder/recorder.h"

namespace stowage::tracer {

/// Ordinal of the calling thread among all threads that ever asked; stable for the thread's life.
std::uint32_t process_thread_index();

class OpBook {
 public:
  /// A use of a buffer, by its key in the BufferBook.
  struct StoredValue {
    std::uint64_t key = 0;
    std::uint32_t version = 0;
  };

  /// Ordinal of the calling thread within this recording, in order of first event.
  std::uint32_t thread_ordinal();
  /// Innermost op that `thread` is in, or kNoOp.
  [[nodiscard]] OpId current(std::uint32_t thread) const;

  /// Enters an op on `thread`; allocations from `next_buffer` on are inside it.
  OpId enter(std::uint32_t thread, Tick tick, std::uint64_t next_buffer);
  /// Leaves it and writes down what it did. An op that was forgotten meanwhile only leaves.
  void leave(std::uint32_t thread, OpId id, const OpRecord& record, Tick tick, BufferBook& buffers);
  /// Leaves `id` without a record.
  void leave_unrecorded(std::uint32_t thread, OpId id);

  /// Notes what a device measured of an op, if that is still kept.
  void set_times(const OpTimes& times);
  /// What set_times() noted of the op with that number; zeros if nothing.
  [[nodiscard]] OpOnDevice on_device(std::uint64_t number) const;
  [[nodiscard]] bool knows_device() const { return !on_device_.empty(); }

  void forget_before(std::uint64_t op, std::uint64_t value);

  /// The number of `id` if it is still kept, else kGone.
  [[nodiscard]] std::uint64_t number_of(OpId id) const;
  static constexpr std::uint64_t kGone = ~std::uint64_t{0};

  [[nodiscard]] const Log<Op>& log() const { return ops_; }
  [[nodiscard]] const Log<StoredValue>& values() const { return values_; }
  /// Op::name of a logged op is an index into these.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Op::first_value of a logged op is 32 bits of the number in values(); this makes it whole.
  [[nodiscard]] std::uint64_t first_value(const Op& op) const;

 private:
  struct Open {
    OpId id = kNoOp;
    std::uint64_t first_buffer = 0;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  std::uint32_t intern(std::string_view name);
  std::uint32_t store(std::span<const OpRecord::Use> uses, Tick tick, BufferBook& buffers);
  std::uint64_t pop(std::uint32_t thread, OpId id);

  Log<Op> ops_;
  Log<StoredValue> values_;
  std::unordered_map<std::uint64_t, OpOnDevice> on_device_;  // by number; of ops that CUPTI measured
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> name_ids_;
  std::vector<std::uint32_t> ordinals_;     // process thread index -> ordinal
  std::vector<std::vector<Open>> threads_;  // ordinal -> ops it is in, innermost last
};

}  // namespace stowage::tracer
