// The runtime over a fork: its lock is taken before, so that the child finds everything whole, and is a new
// one in the child, where evicted tensors come back as ever.
//
// The lock may be held by a thread that waits for Python's interpreter, which the thread that forks holds:
// that one lets others run while it waits. If it does not get the lock in ten seconds, the child runs
// without the runtime: it has lost what was evicted and can use everything else.
//
// A child replays ops with its own number of threads: it has no copy of its parent's pool, and would wait
// for that for ever.
//
// Thread safety: any thread.
#pragma once

namespace stowage::recompute {

/// From now on; further calls do nothing.
void hold_runtime_over_forks();

}  // namespace stowage::recompute
