// Writes down the allocations, frees, ops and marks of one device, in bounded memory. Knows nothing of torch:
// the adaptors and tracer/observers/op_observer.h feed it.
//
// Thread safety: every member may be called from any thread (one mutex inside); ticks are given in order of
// arrival.
//
// A window goes from one mark's tick to the next one's: the mark is the first event of what follows it. A
// mark with no allocation since the one before says nothing about iterations and is not recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/thread_scope.h"
#include "core/trace.h"

namespace stowage::tracer {

struct RecorderOptions {
  /// Windows longer than this many marks are not looked for (two optimizers make 2).
  std::uint32_t max_period_marks = 8;
  /// Bound on events kept. Old iterations are forgotten first; if a single one is longer, events are dropped
  /// and counted.
  std::uint64_t max_events = 4'000'000;
  /// Nothing was allocated on the device before.
  bool from_first_allocation = false;
};

/// How much of what is kept a snapshot holds: the steady windows and what followed, or all.
enum class Extent : std::uint8_t { kSteady, kAll };

/// An op as its observer saw it end. Buffers are named by any address inside them.
struct OpRecord {
  std::string_view name;
  std::uint32_t flags = 0;
  StreamId stream{0};
  std::uint64_t begin_ns = 0;    ///< CLOCK_MONOTONIC, when its call began
  std::uint64_t end_ns = 0;      ///< and ended
  bool timed_by_device = false;  ///< its duration comes later, by set_op_times(); else it is the call's
  struct Use {
    const void* storage = nullptr;
    std::uint32_t version = 0;
    Bytes bytes{0};
  };
  std::span<const Use> inputs = {};
  std::span<const Use> outputs = {};
};

/// What a device measured of one op.
struct OpTimes {
  OpId op = kNoOp;
  std::uint64_t duration_ns = 0;
  TimeSource source = TimeSource::kNone;
  OpOnDevice on_device;
};

/// While one exists, what the calling thread allocates is not the job's: no recorder counts it, unless
/// on_brought_back() says what it is.
class Unrecorded : public ThreadScope<Unrecorded> {};

class Recorder {
 public:
  explicit Recorder(TraceInfo info, RecorderOptions options = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void on_alloc(const void* address, Bytes bytes, Bytes rounded, StreamId stream);
  /// The owner freed `address`; an unknown address is one that was alive before recording began.
  void on_free_requested(const void* address);
  /// The memory may be used again. Called right after on_free_requested unless other streams are still using
  /// it.
  void on_free_completed(const void* address);
  /// Both at once, for memory that no other stream uses.
  void on_free(const void* address);
  /// The memory at `address` is freed next, as rescue evicts what lies there: the job still has it, so its
  /// buffer lives on, under the name `id`, as if it had stayed.
  void on_set_aside(const void* address, std::uint64_t id);
  /// It lies at `address`, in memory that was allocated since. Where that was Unrecorded its buffer goes on,
  /// or a new one is born if it was not set aside; else it is a new one already.
  void on_brought_back(const void* address, std::uint64_t id);
  /// It died, or was to be freed now anyway.
  void on_aside_gone(std::uint64_t id);
  /// record_stream: `stream` uses the buffer too.
  void on_cross_stream_use(const void* address, StreamId stream);
  /// The calling thread enters an op: allocations until op_end belong to it. Returns its id.
  OpId on_op_begin();
  /// The calling thread leaves op `id`, which on_op_begin gave.
  void on_op_end(OpId id, const OpRecord& record);
  /// What a device measured of ops that have ended. Ops that were forgotten are ignored.
  void set_op_times(const std::vector<OpTimes>& times);
  /// What else was recorded, in any order: Activity::op is an id that on_op_begin() gave, Activity::name an
  /// index into `names`, times are CLOCK_MONOTONIC. Snapshots hold those of their windows. Replaces what was
  /// set before.
  void set_activities(std::vector<Activity> activities, std::vector<std::string> names,
                      const ActivityLosses& losses);
  /// The end of an iteration. Looks for the steady state. False when nothing was allocated since the mark
  /// before: such a mark does not count.
  bool on_mark(MarkSource source);

  /// True once the last windows agree: as many marks each, same allocations.
  [[nodiscard]] bool steady() const;
  /// Marks that a steady window holds: 1, or more for several optimizers; 0 when not steady.
  [[nodiscard]] std::uint32_t period_marks() const;
  /// The fingerprint (core/trace.h) of the window that the last mark ended, or of the one `back` before it;
  /// nothing if that is not kept or has lost events.
  [[nodiscard]] std::optional<std::uint64_t> fingerprint_of_window(std::size_t back = 0) const;
  /// The allocations of the window that the last mark ended, in their order; none if that is not kept.
  /// O(allocations × log allocations).
  [[nodiscard]] std::vector<RequestLife> lives_of_window() const;
  /// True if each of the last `count` windows made the same allocations as another one that is kept, by their
  /// fingerprints: the job goes through kinds of iterations that it had before.
  [[nodiscard]] bool comes_again(std::size_t count) const;
  /// True if no two of the last `count` windows made the same allocations, and none lost events.
  [[nodiscard]] bool all_differ(std::size_t count) const;
  /// A copy of what is known, ticks rebased to begin at 0: of the two steady windows and what followed, with
  /// `steady` set; without a steady state, or with kAll, of all windows that are kept (with kAll only those
  /// without lost events). O(events).
  [[nodiscard]] Trace snapshot(Extent extent = Extent::kSteady) const;
  /// Forgets everything but the buffers that are alive.
  void clear();
  /// Everything since the beginning is kept.
  [[nodiscard]] bool is_whole() const;
  /// Events lost since the beginning. A snapshot counts only those of the windows it holds.
  [[nodiscard]] std::uint64_t dropped() const;
  /// Nothing was freed since the job's first allocation, and no mark has come.
  [[nodiscard]] bool only_grew() const;
  /// Rounded bytes of the buffers that were seen allocated and are not free yet.
  [[nodiscard]] Bytes live() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stowage::tracer
