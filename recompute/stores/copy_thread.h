// Does copies one after the other, beside the thread that asks for them.
//
// The thread starts with the first copy; where the system has none to give, copies are done at once instead.
// A fork's child does not have it: it gets its own, and all that was begun is done before the fork.
//
// Thread safety: none; the runtime's lock guards it. The copies themselves run without a lock.
#pragma once

#include <functional>
#include <future>
#include <memory>

#include "core/result.h"

namespace stowage::recompute {

class CopyThread {
 public:
  CopyThread();
  /// Does what was begun.
  ~CopyThread();
  CopyThread(const CopyThread&) = delete;
  CopyThread& operator=(const CopyThread&) = delete;

  using Copy = std::function<Status()>;
  /// Behind all that was begun before. `copy` does not throw.
  std::future<Status> begin(Copy copy);
  /// Returns when all that was begun is done.
  void finish_all();
  /// In a fork's child. Requires: finish_all() in the parent right before.
  void after_fork_in_child();

 private:
  struct Running;
  std::unique_ptr<Running> running_;  ///< null: not started
};

}  // namespace stowage::recompute
