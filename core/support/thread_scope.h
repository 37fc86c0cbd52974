// Something that holds for the calling thread while an object lives.
//
// Thread safety: each thread has its own.
#pragma once

namespace stowage {

/// Base of a class of its own for each such thing: `class NotTheEnd : public ThreadScope<NotTheEnd> {};`
template <class Scope>
class ThreadScope {
 public:
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  /// How many are alive on the calling thread.
  static int& depth() noexcept {
    thread_local int depth = 0;
    return depth;
  }

 protected:
  ThreadScope() noexcept { ++depth(); }
  ~ThreadScope() { --depth(); }
};

}  // namespace stowage
