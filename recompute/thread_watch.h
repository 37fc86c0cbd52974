// Threads that nobody told: their first op makes them take part. And times in which all threads' ops are left
// alone.
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
/// True while an op of a thread runs that was not seen before it began, or while suspended: nothing may be
/// evicted.
bool unseen_op_runs() noexcept;

/// Begins or ends a time in which nothing is evicted, in any thread. They nest; an end too many does nothing.
void begin_suspension() noexcept;
void end_suspension() noexcept;
bool suspended() noexcept;

}  // namespace stowage::recompute
