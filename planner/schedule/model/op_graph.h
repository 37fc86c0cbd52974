// A StepLog as arrays of numbers: which op uses and makes which values, in which order things happen.
//
// A value is one version of one buffer. Each op stands twice among the events, at its beginning and its end,
// since ops may enclose others; what an op makes is born at its end. Thread safety: immutable after making.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/step_log.h"

namespace stowage::planner::schedule {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct OpGraph {
  struct Use {
    std::uint32_t value = kNone;
    ValueRole role = ValueRole::kRead;
  };
  struct OpNode {
    std::uint32_t first_use = 0;  ///< index of `uses`: inputs, then outputs
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
    std::uint64_t cost_ns = 0;
    std::uint64_t workspace = 0;  ///< bytes
    std::uint64_t extra = 0;      ///< bytes, besides, of running it again
    std::uint64_t own_ns = 0;     ///< without the ops that it runs itself
  };
  struct ValueNode {
    std::uint32_t buffer = kNone;
    std::uint32_t version = 0;
    std::uint32_t maker = kNone;  ///< the op that made it; kNone: from before, or unseen
    bool recipe = false;          ///< the maker can make it again
  };
  struct BufferNode {
    std::uint64_t bytes = 0;
    std::uint32_t entry = kNone;  ///< an Action's
    bool may_go = false;
    std::uint32_t pinned_from = kNone;  ///< op
    bool from_before = false;
    bool survives = false;      ///< it is there behind the iteration
    bool written = false;       ///< an op of the iteration writes it, after it was made
    std::uint64_t copy_ns = 0;  ///< to its store, or back; 0: it is never offloaded
    /// It is there before the iteration and behind it.
    [[nodiscard]] bool lasts() const { return from_before && survives; }
    /// A copy of it is good in every iteration.
    [[nodiscard]] bool lasts_alike() const { return lasts() && !written; }
  };
  enum class EventKind : std::uint8_t { kDeath, kBirth, kBegin, kEnd };
  struct Event {
    EventKind kind = EventKind::kBegin;
    std::uint32_t index = 0;  ///< op, or buffer; births are of buffers that no op made
  };

  CopyLanes copy_lanes = CopyLanes::kNone;  ///< StepLog's
  std::uint64_t store_bytes = 0;            ///< StepLog's
  std::vector<OpNode> ops;
  std::vector<Use> uses;
  std::vector<ValueNode> values;
  std::vector<BufferNode> buffers;
  std::vector<Event> events;  ///< in order of time; buffers from before are born before all of them
  std::vector<std::uint32_t> first_value;           ///< by buffer: its value before anything wrote to it
  std::vector<std::vector<std::uint32_t>> touched;  ///< by buffer: ops that use it, ascending
  std::vector<std::vector<std::uint32_t>> readers;  ///< by value: ops whose recipes start from it, ascending

  /// An op of the iteration made it.
  [[nodiscard]] bool is_made(std::uint32_t buffer) const { return buffers[buffer].entry < kLastingEntries; }
  [[nodiscard]] std::span<const Use> inputs(std::uint32_t op) const {
    return {uses.data() + ops[op].first_use, ops[op].inputs};
  }
  [[nodiscard]] std::span<const Use> outputs(std::uint32_t op) const {
    return {uses.data() + ops[op].first_use + ops[op].inputs, ops[op].outputs};
  }
  /// True if the op can be run again: one of its outputs has its recipe.
  [[nodiscard]] bool replayable(std::uint32_t op) const {
    for (const Use& use : outputs(op)) {
      if (use.role == ValueRole::kMade) return true;
    }
    return false;
  }
  /// True for a role that writes to an input.
  [[nodiscard]] static bool writes(ValueRole role) {
    return role == ValueRole::kChanged || role == ValueRole::kReplaced;
  }
  /// True for a role in which a recipe starts from the value.
  [[nodiscard]] static bool feeds(ValueRole role) {
    return role == ValueRole::kRead || role == ValueRole::kChanged;
  }
};

/// Error: what StepLog::validate() says; kUnplannable if versions of a buffer are not made in order.
[[nodiscard]] Result<OpGraph> make_op_graph(const StepLog& log);

}  // namespace stowage::planner::schedule
