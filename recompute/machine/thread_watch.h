// Threads that did not join: their first op makes them.
//
// A thread that the job starts itself has the interposer's key off, so its ops could read evicted memory. A
// record function on every op notices such a thread before its first op runs: everything is brought back,
// nothing is evicted until that op has ended, and from then on the interposer sees the thread's ops.
//
// Thread safety: any thread.
#pragma once

namespace stowage::recompute {

/// Starts or stops watching. Needs no lock; must not race with ops of other threads at the first start.
void watch_threads(bool on);

}  // namespace stowage::recompute
