// What the job itself would hold, and which of its threads train: questions to the runtime of recompute.h.
//
// Thread safety: any thread; takes the runtime's lock. Call with no lock of an allocator held.
#pragma once

#include <cstdint>
#include <optional>

namespace stowage::recompute {

/// Bytes by which the job would hold more than it does, were nothing evicted: what is evicted, less dead
/// values that recomputation keeps. Nothing while the calling thread recomputes. O(storages).
std::optional<std::int64_t> bytes_away();

/// Threads that are in an iteration, according to their joins and the ends of their iterations. 0 while the
/// calling thread recomputes: it holds the lock that the others need.
std::uint64_t threads_in_iterations();

}  // namespace stowage::recompute
