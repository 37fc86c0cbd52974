// One iteration as the recompute runtime saw it, and the schedule that a scheduler makes of it.
//
// A StepLog is a Trace with what eviction needs in addition: how each op used each value, what can be made
// again, and what must stay. It shows the job alone: evictions and recomputations of that iteration are not
// in it. A Schedule says which buffers are evicted and restored before which op; it refers to the iteration's
// ops and to the buffers that these make, both numbered in order.
//
// Thread safety: plain data. Invariants: StepLog::validate() says ok.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/runtime/copy_lanes.h"
#include "core/trace.h"

namespace stowage {

/// Whether a buffer may be evicted, and why not.
enum class Stay : std::uint8_t {
  kMayGo = 0,
  kBefore,    ///< it was alive when the iteration began
  kUnseen,    ///< no op made it
  kNoRecipe,  ///< nothing that it ever held can be made again
  kPinned,    ///< code may read or write it unseen
  kSurvives,  ///< it is alive when the iteration ends
};

/// How an op uses the value at the same index of Trace::values.
enum class ValueRole : std::uint8_t {
  kRead = 0,
  kChanged,      ///< input: read, then written in place; running the op again starts from a copy
  kReplaced,     ///< input: written as a whole; running the op again writes to a scratch buffer
  kKept,         ///< input: so small that the recipe holds its content
  kMade,         ///< output that the op's recipe makes again
  kMadeForGood,  ///< output without a recipe
};

struct StepLog {
  Trace trace;
  std::vector<Stay> stays;                  ///< by buffer
  std::vector<OpId> pinned_from;            ///< by buffer: from this op on it stays; kNoOp: it never has to
  std::vector<ValueRole> roles;             ///< by Trace::values
  std::vector<std::uint64_t> shape_hashes;  ///< by op: of its name and its tensors' types and sizes
  std::vector<Bytes> replay_extra;  ///< by op: bytes that running it again takes besides its workspace
  /// By buffer: what a copy to its store takes, or one back; 0: it is never offloaded. Empty: none is.
  std::vector<std::uint64_t> copy_ns;
  Bytes store_bytes = kMaxTotal;  ///< of copies that a schedule may have in the store at a time
  CopyLanes copy_lanes = CopyLanes::kNone;
  std::vector<BufferId> made;           ///< the buffers that ops made, in order: a schedule's numbering
  std::vector<std::uint64_t> replayed;  ///< shape hashes of the ops that ran again meanwhile

  /// Checks the trace, the lengths and orders of the columns, and that roles fit inputs and outputs. Error:
  /// kUnplannable, saying what is wrong.
  [[nodiscard]] Status validate() const;
};

/// Time of the job's own ops. What a composite's own ops take is in its time.
[[nodiscard]] std::uint64_t ops_ns(const StepLog& log);

/// Time of the ops that keep values in fewer bytes, and back: not the job's (recompute/encode/codecs.h).
[[nodiscard]] std::uint64_t encode_ns(const StepLog& log);

/// By op: its time without that of the ops that it runs itself.
[[nodiscard]] std::vector<std::uint64_t> own_ns(const StepLog& log);

/// Time of the ops that ran again while `log` was written: of each, the mean of the iteration's ops of its
/// shape. Those that are like no op of the iteration count with the mean of the others.
[[nodiscard]] std::uint64_t replayed_ns(const StepLog& log);

/// Sets the time of each op that the host timed once to the median of the iteration's ops of its shape: a
/// single measurement may be off by much, as when another process had the core.
void even_out_host_times(StepLog& log);

/// By op: how many of StepLog::made there are when it begins.
[[nodiscard]] std::vector<std::uint32_t> made_before_ops(const StepLog& log);

/// Where an op uses a buffer: the op, and which of its inputs the buffer is.
struct UseAt {
  std::uint32_t op = 0;
  std::uint32_t input = 0;
  friend bool operator==(const UseAt&, const UseAt&) = default;
};

/// A buffer that there is before the iteration and behind it: a parameter, optimizer state.
struct LastingBuffer {
  BufferId buffer;
  UseAt first_use;
};
/// Those that ops use, in order of first use.
[[nodiscard]] std::vector<LastingBuffer> lasting_buffers(const StepLog& log);

enum class ActionKind : std::uint8_t {
  kEvict = 0,
  kRematerialize = 1,
  kOffload = 2,
  kRestore = 3,
  kStore = 4,     ///< the copy to its store begins; the buffer stays
  kPrefetch = 5,  ///< the copy back begins, into memory that is taken now
};
inline constexpr ActionKind kLastActionKind = ActionKind::kPrefetch;

/// Entries from here on are of Schedule::lasting.
inline constexpr std::uint32_t kLastingEntries = std::uint32_t{1} << 31u;

/// One step of a schedule: what happens to a buffer just before the iteration's op number `op`. `entry` is an
/// index of StepLog::made, or of Schedule::lasting, plus kLastingEntries. kOffload of what is offloaded does
/// nothing, nor kPrefetch of what is not.
struct Action {
  ActionKind kind = ActionKind::kEvict;
  std::uint32_t op = 0;
  std::uint32_t entry = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

/// What is evicted, offloaded and restored in each iteration of one kind. Anything else that an op finds away
/// is restored on demand. A lasting buffer that is away when the iteration ends is away when it begins, too,
/// and is offloaded before op 0 if it is not.
struct Schedule {
  std::vector<std::uint64_t> shape_hashes;  ///< of the ops it is for; an iteration that differs leaves it
  /// By op: entries that there are when it begins; empty if that is not known. With it a few ops that differ
  /// are passed over.
  std::vector<std::uint32_t> made_before;
  /// In order of op; those of one op are done in this order.
  std::vector<Action> actions;
  /// Empty where no action is of one.
  std::vector<UseAt> lasting;   ///< by entry from kLastingEntries on: its first use tells a lasting buffer
  std::uint64_t replays = 0;    ///< ops that are run again in each iteration
  std::uint64_t replay_ns = 0;  ///< what that takes, by the log's durations
  std::uint64_t copies = 0;     ///< to stores and back, in each iteration
  std::uint64_t copy_ns = 0;    ///< what these take, by the log's estimates
  std::uint64_t wait_ns = 0;    ///< for how much of that, and of what is queued before it, the ops wait
  /// added_ns() of no schedule within the budget that it was made for is less; a lower bound.
  std::uint64_t bound_ns = 0;
  Bytes peak{0};          ///< most bytes held at a time
  Bytes height{0};        ///< the peak once all buffers have fixed offsets
  bool received = false;  ///< another process made it, by what ops take there

  /// By how much an iteration is longer.
  [[nodiscard]] std::uint64_t added_ns() const { return replay_ns + wait_ns; }
};

/// `added_ns` to an iteration are too many where another way adds `other_ns`: by over a quarter of that and
/// over 1/64 of `ops_ns`, the iteration's own time.
[[nodiscard]] bool is_too_dear(std::uint64_t added_ns, std::uint64_t other_ns, std::uint64_t ops_ns);

/// `actions` for the log's iteration, with what tells a job's ops and buffers from those of the log; nothing
/// that they cost.
[[nodiscard]] Schedule schedule_of(const StepLog& log, std::vector<Action> actions);

}  // namespace stowage
