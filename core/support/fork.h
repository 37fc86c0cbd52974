// Our locks when the process forks: one scheme for all of them.
//
// A child has one thread, the one that forked. A lock that another thread held is held in the child for ever,
// and what it guards may be half written. So every lock that a child may need is taken before the fork, and
// free again after it, in the parent and in the child. What a child does not need (recorders, sessions,
// limits) it never reaches: it is switched off there. Locks are taken in order of rank, the order in which
// threads take them, and no thread takes two of the last rank.
//
// Thread safety: any thread. Requires of a handler: it lives as long as the process.
#pragma once

#include <cstdint>
#include <mutex>

namespace stowage {

enum class ForkRank : std::uint8_t {
  kRuntime,  ///< the lock of the runtime that evicts, under which any other of ours may be taken
  kLeaf      ///< one under which no other lock of ours is taken
};

/// Called by the thread that forks. `before` comes in order of rank, the others in reverse.
struct ForkHandler {
  void (*before)(void* subject) = nullptr;
  void (*in_parent)(void* subject) = nullptr;
  void (*in_child)(void* subject) = nullptr;
  void* subject = nullptr;
};

/// From now on. A second handler for the same subject is ignored.
void handle_forks(ForkRank rank, const ForkHandler& handler);

/// `mutex` is free in a forked child, and what it guards is whole.
void hold_over_forks(std::mutex& mutex);

}  // namespace stowage
