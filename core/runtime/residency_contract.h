// What the recompute runtime does with memory, as a contract: what a schedule may count on.
//
// recompute/ evicts and restores tensors in a running job. planner/schedule/model/ predicts, without a job,
// what memory that takes and which ops run again; the validator beside it checks a schedule by the same
// rules. They share no code: each implements these rules and names states as here. Whoever changes a rule
// changes it here and in all three. recompute_planned_test compares runtime and model over whole jobs: the
// same ops run again, and no more bytes are held than predicted.
//
// A value is a version of a buffer (in a running job: of a storage). A leaf is a value without a recipe.
// 1. A buffer may be evicted if it is resident, may go (Stay::kMayGo), is neither pinned nor locked by a
//    running op, has a recipe, and every path down its recipes ends at a leaf that is in memory and kOpen. A
//    value that is in memory but starts from a lost leaf becomes a leaf itself.
// 2. The leaves that an evicted buffer starts from are anchored: they stay in memory until the buffer is
//    restored or dies, even if the job frees them.
// 3. To restore a buffer, the ops that make its value run again, from the values that are in memory. Every
//    output of these ops that is away is restored with it. Values of dead buffers exist only until the last
//    of these ops that needs them.
// 4. While an op runs again, its outputs, its workspace, scratch buffers for what it replaces and copies of
//    what it changes in place are held in addition. A value that no other op needs is changed in place
//    itself.
// 5. What an op reads is restored before it runs, argument by argument, and is locked while it runs. What an
//    op pins stays from then on.
// 6. Before an op writes to a value, the value is frozen and what starts from it is restored; then it is
//    closing until the op has ended.
// 7. A buffer may be offloaded if it is resident, and neither pinned, locked nor open to code that is not
//    seen. It needs no recipe, and what was evicted may start from it: it comes back, and stays, before an op
//    reads it, also one that runs again. A copy in its store is good until the buffer is written: what did
//    not change since is not copied there again.
// 8. At an iteration's end all that is evicted comes back, and what is offloaded stays so. Of the buffers
// that
//    lasted through an iteration that follows a schedule the same ones are away at its end as at its
//    beginning. What it made and leaves behind counts as in memory when the next one begins, though it may be
//    away.
// 9. Where copies run beside ops, one to the store may begin before the buffer is offloaded, which then waits
//    for it, and one back before something asks for the buffer: its memory is taken at once, and whoever
//    asks waits for the rest of the copy. Until then it is offloaded: an op that runs again does not make it
//    instead, and if it dies its memory is free. Copies queue one behind the other; where there is a lane
//    each way (CopyLanes), behind those in the same direction.
// 10. Only the runtime keeps values (ValueState::kKept). Under a schedule there are no spares, and an
//    overwritten leaf is copied only if what starts from it does not fit.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>

namespace stowage {

/// Where a value's bytes are.
enum class ValueState : std::uint8_t {
  kResident = 0,  ///< in its buffer, to be read
  kKept,          ///< in memory beside its buffer: the copy of an overwritten leaf, or a spare
  kEvicted,       ///< freed; the job has the buffer, and they are made again before an op reads it
  kOffloaded,     ///< in a store; the job has the buffer, and they are copied back before an op reads it
  kClosing,       ///< in its buffer, which an op is overwriting
  kDead,          ///< nowhere, since the job no longer needs them; a recipe can make them again
  kLost,          ///< nowhere, and no recipe makes them: nothing that starts from them can be made again
};

/// True if they are in memory or in a store, and may be read: what recomputation starts from.
constexpr bool materialised(ValueState state) {
  return state == ValueState::kResident || state == ValueState::kOffloaded || state == ValueState::kKept;
}

/// Whether a value's bytes are about to change.
enum class WriteState : std::uint8_t {
  kOpen = 0,
  kFrozen,   ///< about to be written: nothing further may be evicted that starts from it
  kClosing,  ///< an op is writing it: nothing may read it
};

/// A value is never opened again.
constexpr void advance(WriteState& state, WriteState to) { state = state < to ? to : state; }

}  // namespace stowage
