// The contents of a step log: each version of each buffer, by number, and which ops make and read it. For the
// validator of schedules (validator.h), which shares no code with the scheduler's model.
//
// Thread safety: const members from any thread; the log must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/step_log.h"

namespace stowage::planner::schedule {

using Content = std::uint32_t;  ///< number of a (buffer, version)
constexpr std::uint32_t kNothing = ~std::uint32_t{0};

class LogContents {
 public:
  /// The log must be valid (StepLog::validate()).
  explicit LogContents(const StepLog& log);

  std::size_t count() const { return homes_.size(); }
  /// What a buffer holds before anything writes to it.
  Content first_of(std::uint32_t buffer) const { return numbers_.at({buffer, 0}); }
  bool is_first(Content content) const { return first_[content]; }
  std::uint32_t home(Content content) const { return homes_[content]; }  ///< its buffer
  Content at(std::size_t value) const { return slots_[value]; }          ///< of Trace::values

  /// By content: the op that can make it again, or kNothing.
  std::vector<std::uint32_t> makers() const;
  /// What an op reads, changed inputs included.
  std::vector<Content> sources(std::uint32_t op) const;
  /// Bytes of the buffers that an op allocates for its outputs.
  std::uint64_t fresh_bytes(std::uint32_t op) const;

  /// An op's inputs are Trace::values [inputs_at, outputs_at), its outputs [outputs_at, end_of).
  std::size_t inputs_at(std::uint32_t op) const { return log_.trace.ops[op].first_value; }
  std::size_t outputs_at(std::uint32_t op) const { return inputs_at(op) + log_.trace.ops[op].input_count; }
  std::size_t end_of(std::uint32_t op) const { return outputs_at(op) + log_.trace.ops[op].output_count; }

 private:
  Content number(std::uint32_t buffer, std::uint32_t version);

  const StepLog& log_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Content> numbers_;  // of (buffer, version)
  std::vector<std::uint32_t> homes_;                                    // by content
  std::vector<bool> first_;                                             // by content
  std::vector<Content> slots_;                                          // by Trace::values
};

/// A lasting buffer (lasting_buffers()) in an iteration that follows a schedule.
struct LastingState {
  std::uint32_t buffer = 0;
  bool written = false;  ///< by an op of the iteration
  bool away = false;     ///< when it begins and ends: offloaded behind its last use, and not asked for again
};
/// In the order of a schedule's entries. Actions on what is not in the log are passed over.
std::vector<LastingState> lasting_under(const StepLog& log, const Schedule& schedule);

}  // namespace stowage::planner::schedule
