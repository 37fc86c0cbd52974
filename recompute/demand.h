// What the job itself would hold, and who of it is at work: questions to the runtime of recompute.h.
//
// Thread safety: any thread; takes the runtime's lock. Call with no lock of an allocator held.
#pragma once

#include <cstdint>
#include <optional>

namespace stowage::recompute {

/// Bytes by which the job would hold more than it does, were nothing evicted: what is away, less dead values
/// that recomputation keeps. Nothing while the calling thread recomputes. O(storages).
std::optional<std::int64_t> bytes_away();

/// Threads that are in an iteration, as far as their joins and the ends of their iterations tell. 0 while the
/// calling thread recomputes: it has the lock that the others need to get on.
std::uint64_t threads_in_iterations();

}  // namespace stowage::recompute
