// Evict and recompute: the interface of this folder for the session.
//
// While it is installed, every ATen op of the threads that take part goes through an interposer. It keeps,
// for each value (storage, version) whose re-creation is legal, the recipe that made it; evicts values when
// their bytes are needed; and restores, before an op runs, all that the op reads. What it cannot be
// certain about stays resident.
//
// Thread safety: every function, from any thread, except where it says otherwise. All state is behind one
// recursive lock of the runtime; ops run outside it, recomputation inside it. Lock order: the runtime's lock
// comes before any lock of an allocator. So an allocator must hold NO lock of its own while it calls
// make_room(), since that frees through the allocator, and an allocation inside a recomputation may call
// make_room() again (which is allowed: it never evicts what a running op or recomputation reads or makes).
//
// Invariants: an evicted storage's value can be made again at any time, bit for bit, and an offloaded one's
// copied back; nothing that is locked or pinned is ever evicted or offloaded, and nothing without a recipe
// evicted; restoring touches neither version counters nor autograd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "core/runtime/free_space.h"
#include "core/runtime/runtime_counters.h"
#include "core/runtime/shortage.h"
#include "core/units.h"
#include "recompute/machine/options.h"
#include "recompute/stores/store.h"

namespace c10 {
struct StorageImpl;
}

namespace stowage::recompute {

class RescueListener;  // away/rescue_watch.h

/// The one runtime of a process.
class Runtime {
 public:
  /// Puts the interposer in place and makes the calling thread take part; threads that autograd runs for it
  /// follow. Another thread takes part once it calls join(), or from its first op on (see expect_joins).
  /// Installing again replaces the options. Error:
  /// kUnsupported where the guard range cannot be reserved or other code has taken the dispatch key.
  static Status install(const Options& options);
  /// Brings everything back, forgets all recipes and takes the interposer out. Must not race with ops of
  /// other threads that began while installed. Throws what recomputation throws (out of memory); then all is
  /// still installed.
  static void uninstall();
  static bool installed() noexcept;
  /// The calling thread takes part from now on. No effect while not installed.
  static void join() noexcept;
  /// True: every other thread that may run ops calls join() before its first, as Python's guards ensure, and
  /// ops are not watched. False, the default: another thread's first op is noticed, for which everything is
  /// restored; watching costs each op about a microsecond.
  static void expect_joins(bool all_join);
  /// The runtime was installed in the midst of an iteration, where code that runs may yet restore a thread's
  /// dispatch keys from before: until the iteration's end ops of every thread are watched.
  static void watch_until_iteration_ends();

  /// An allocation of `bytes` on a device (c10::DeviceType as a number: 0 CPU, 1 CUDA; which of them, or -1
  /// for all of that type) would exceed the budget: evicts there, cheapest first, until at least `bytes` are
  /// free or nothing is left. True if anything was freed: then look again. False: nothing is evictable, the
  /// thrash guard holds, or the runtime is not installed.
  static bool make_room(Bytes bytes, int device_type, int device_index = -1) noexcept;
  /// As make_room, for an allocator that has room, but not in one piece: frees contiguous room of at
  /// least `bytes` made of free ranges and evictable storages, the cheapest such. False: nothing was evicted;
  /// there is no such room, or it is free already.
  static bool make_contiguous_room(Bytes bytes, int device_type, const FreeSpace& space) noexcept;

  /// What is offloaded from devices of this type (0 CPU, 1 CUDA) goes there from now on; null: nothing is.
  /// Offloading is a way to make room beside eviction. Before install(), or while nothing is offloaded.
  static void use_store(int device_type, std::unique_ptr<Store> store);

  /// The job may hold at most `limit` bytes of such a device from now on. Where there is a store, ops that
  /// read or write lists of tensors then run in parts: of an eighth of that for three lists. A convolution's
  /// backward pass that would need more than half of it runs in two calls. 0: there is no limit.
  static void note_limit(Bytes limit, int device_type);
  /// An eighth of that; 0: ops on lists run as they are.
  [[nodiscard]] static Bytes part_bytes(int device_type);

  /// A sentence for an out-of-memory error: what is held and why it stays, in parts that add up to the whole,
  /// and which budget would be enough. Empty where the job will not see the error, since the runtime tries
  /// something else then. `device_type`, `device_index`: as for make_room().
  static std::string explain_shortage(const Shortage& shortage, int device_type, int device_index = -1);
  /// Bytes there that make_room() may evict now, as counted by size; 0 while the thrash guard holds.
  static Bytes evictable(int device_type, int device_index = -1);

  /// An iteration ended: if nothing is evicted, values of it that are still alive lose their history (they
  /// stay permanently), so that recipes do not reach across iterations; else only what is dead is forgotten.
  /// Call between ops.
  static void end_iteration();

  /// `storage` is read or written outside of ops from now on (a pointer was handed out): it comes back,
  /// stays, and what is computed from it from now on is not evicted.
  static void expose(c10::StorageImpl* storage);
  /// `storage` is there: it may be offloaded, though no op has used it yet; on a device with streams only if
  /// it is known to be `on_this_stream`, the current one, whose earlier work has ended.
  static void know(c10::StorageImpl* storage, bool on_this_stream = false);
  /// `storage` comes back and stays until it dies. Cheaper than expose(): only for reads.
  static void pin(c10::StorageImpl* storage);
  /// As expose(), until take_back() was called as often: something that gives access to the memory is alive.
  static void lend(c10::StorageImpl* storage);
  static void take_back(c10::StorageImpl* storage);
  /// `storage` comes back and stays until let_go() was called as often: unseen code reads it meanwhile.
  static void hold(c10::StorageImpl* storage);
  static void let_go(c10::StorageImpl* storage);
  /// Some code got the address of `storage`: it is restored and stays until it dies. Unseen code may write it
  /// until the next op reads it. On the CPU a later write is found when the bytes are used again, and is an
  /// error if something that is evicted needs those from before; elsewhere this is expose().
  static void tell_address(c10::StorageImpl* storage);
  /// Between these calls unseen code changes `storage`, its size perhaps. It comes back first, as does what
  /// is evicted and needs the bytes from before (or a copy of them is kept).
  static void begin_write(c10::StorageImpl* storage);
  static void end_write(c10::StorageImpl* storage);
  /// Evicts one storage, if that is legal now. True if it is evicted now.
  static bool evict(c10::StorageImpl* storage);
  /// The same for offloading.
  static bool offload(c10::StorageImpl* storage);
  /// True if the storage's bytes are evicted or offloaded now.
  static bool is_evicted(c10::StorageImpl* storage);

  /// Between these calls the thread runs code that may read or fill memory unseen (a custom autograd
  /// function): its ops have no recipes and what they read stays. Nests. For the calling thread only.
  static void enter_opaque() noexcept;
  static void leave_opaque() noexcept;

  /// Between these calls nothing is evicted or made again, and what ops of any thread read stays until the
  /// session ends: a graph is being captured, which will read it by address, or memory comes from a pool of
  /// the job's own. suspend() first brings everything back and throws what recomputation throws; then nothing
  /// is suspended. They nest; a resume() too many does nothing.
  static void suspend();
  static void resume() noexcept;

  /// `listener` is told of what rescue evicts and brings back from now on, and outlives the runtime; null: no
  /// one is.
  static void listen(RescueListener* listener);

  /// True while the calling thread recomputes: its allocations and ops are not the job's own.
  static bool replaying() noexcept;
  /// True while an out-of-memory error on the calling thread would not reach the job: something else is tried
  /// after it.
  static bool may_fail() noexcept;

  /// What happened since install().
  static RuntimeCounters counters();
};

}  // namespace stowage::recompute
