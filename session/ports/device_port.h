// What a session needs from its device. Implemented by the CUDA adaptor and the CPU adaptor.
//
// Thread safety: every member may be called from any thread. The session calls them with no lock of its own
// held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "allocator/arena/arena.h"
#include "allocator/layout/arena_counters.h"
#include "core/trace.h"
#include "session/ports/ledger.h"

namespace stowage::tracer {
class OpClock;
}

namespace stowage::session {

/// Bytes that PyTorch's own allocator holds: given to tensors, and taken from the device. Arena bytes do not
/// count.
struct UpstreamUse {
  Bytes allocated{0};
  Bytes reserved{0};
  Bytes peak_allocated{0};  ///< highest so far; 0 when the device cannot tell
  Bytes peak_reserved{0};   ///< highest so far; 0 when the device cannot tell
  /// Free blocks that it keeps, and their fragments.
  [[nodiscard]] Bytes cached() const { return saturating_sub(reserved, allocated); }
};

/// What happens to a block of the arena. A free is completed once no stream uses the block any more.
enum class BlockEvent : std::uint8_t { kAllocated, kFreeRequested, kFreeCompleted };

class DevicePort {
 public:
  virtual ~DevicePort() = default;
  virtual TraceInfo describe() = 0;
  /// An arena with `bytes` in service. Error: kOutOfMemory if the device does not have that much left.
  virtual Result<std::unique_ptr<allocator::Arena>> map_arena(Bytes bytes, allocator::Backing backing) = 0;
  /// The page size in which arenas are mapped.
  virtual Bytes arena_page() = 0;
  /// The counters of the arenas' blocks, or null; they outlive the arenas.
  virtual allocator::ArenaCounters* arena_counters() { return nullptr; }
  /// Gives upstream's cache back to the device. May synchronise.
  virtual void release_upstream_cache() = 0;
  /// An early optimizer step begins or ends: keep its state apart from what is cached before and after it.
  /// May synchronise.
  virtual void part_optimizer_state(bool /*begins*/) {}
  /// Runs `move`, which moves what lasts to other memory: takes that apart from all else, and gives the pages
  /// back that are left. False, and nothing was run: the device loses nothing between tensors. May
  /// synchronise.
  virtual bool gather_lasting(const std::function<void()>& /*move*/) { return false; }
  /// An iteration under a budget ended. `evicted`: it evicted tensors beyond what a schedule says;
  /// `planned`: a plan serves. If upstream refused memory, the port may make every such iteration begin with
  /// the same free memory, so that each evicts the same tensors.
  virtual void even_out(bool /*evicted*/, bool /*planned*/) {}
  /// The session gave up and is off: it must not cost the job anything from now on. Keeps upstream's
  /// settings from recording, since memory that was allocated under them stays. May synchronise.
  virtual void stay_out() {}
  virtual UpstreamUse upstream_use() = 0;
  /// The most that tensors held at one time in arena and upstream together, where that is counted exactly.
  virtual std::optional<Bytes> peak_together() { return std::nullopt; }
  /// An upper bound on what upstream would take from the device for a request of `bytes` on `stream`. May be
  /// slow.
  virtual Bytes upstream_growth(Bytes bytes, StreamId /*stream*/) {
    const UpstreamUse use = upstream_use();
    return use.reserved - use.allocated < bytes ? bytes : Bytes(0);
  }
  /// The largest block that upstream has cached, of any stream. Quick.
  virtual Bytes largest_cached() {
    const UpstreamUse use = upstream_use();
    return use.reserved - use.allocated;
  }
  /// Reports every arena block after Session::watch_blocks(true): an allocation once the address is given, a
  /// free before another request can get the address. If a free was requested earlier, its completion has no
  /// `bytes` and `stream`.
  virtual void on_block(BlockEvent /*event*/, void* /*address*/, Bytes /*bytes*/, StreamId /*stream*/) {}
  /// A tensor took `delta` bytes of the arena (below 0: gave them back), while an iteration under a budget is
  /// logged: for the log, as what upstream gives.
  virtual void on_arena_use(std::int64_t /*delta*/) {}
  /// The count of the device's bytes that a budget limits; null where there is none. Outlives the sessions.
  virtual Ledger* ledger() { return nullptr; }
  /// From now on the ledger counts what upstream has. Done from the beginning where the user set a budget.
  virtual void count_upstream() {}
  /// Bytes that upstream and arena could still take from the device; nothing where that is not known. Asks
  /// the driver.
  virtual std::optional<Bytes> free_memory() { return std::nullopt; }
  /// Waits for all work on the device. True: all memory that the job has there is the calling thread's
  /// current stream's.
  virtual bool finish_work() { return false; }
  /// Code that no op announces may read memory of the job's by address, such as a graph captured earlier.
  [[nodiscard]] virtual bool is_read_by_address() const { return false; }
  /// Arena memory is committed at first touch, so that a budget can count it block by block.
  [[nodiscard]] virtual bool commits_on_touch() const { return false; }
  /// Arenas take memory part by part (Backing::kOnUse), so that a budget can count each part when it comes.
  [[nodiscard]] virtual bool commits_in_parts() const { return false; }
  /// Gives back the memory behind a range of an arena whose content is no longer needed; addresses stay.
  /// Returns how much was given back.
  virtual Bytes decommit(void* /*address*/, Bytes /*bytes*/) { return Bytes(0); }
  /// False while the device must not be waited for: a graph is being captured.
  [[nodiscard]] virtual bool may_wait() const { return true; }
  /// A new clock for the device's ops; null: the host's time around their calls.
  virtual std::shared_ptr<tracer::OpClock> make_op_clock() { return nullptr; }
  /// The calling thread's stream on the device; 0 where it has no ordinal.
  virtual StreamId current_stream() { return StreamId(0); }
  /// Marks the present end of a stream's work. The id is valid until fence_passed returned true for it.
  virtual std::uint64_t record_fence(StreamId stream) = 0;
  /// True once the stream has run past the fence. Never blocks.
  virtual bool fence_passed(std::uint64_t fence) = 0;
  /// Waits until the stream has run past the fence, if that can be waited for now.
  virtual void wait_for_fence(std::uint64_t /*fence*/) {}
};

}  // namespace stowage::session
