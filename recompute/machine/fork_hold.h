// The runtime over a fork: its lock is taken before, so that the child finds everything whole, and is a new
// one in the child, where evicted tensors come back as ever.
//
// The lock may be held by a thread that waits for Python's interpreter, which the thread that forks holds:
// that one lets others run while it waits. Where the lock is not to be had in ten seconds the child gets on
// without the runtime: what was evicted is lost to it, all else it can use.
//
// A child runs ops again with its own number of threads: the pool of its parent is not there, and to use it
// would wait for ever.
//
// Thread safety: any thread.
#pragma once

namespace stowage::recompute {

/// From now on; further calls do nothing.
void hold_runtime_over_forks();

}  // namespace stowage::recompute
