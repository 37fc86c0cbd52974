// What the calling thread is in the midst of. One variable for all of it, which an op looks up once: to find
// a thread's variable is a call in a shared library.
//
// Thread safety: each thread has its own.
#pragma once

#include <cstdint>
#include <utility>

namespace at {
class Tensor;
}

namespace stowage::recompute {

struct ThreadState {
  int opaque = 0;                ///< > 0: it runs code that may touch memory unseen
  int replaying = 0;             ///< > 0: it recomputes
  int may_fail = 0;              ///< > 0: after an out-of-memory error something else is tried
  int running_ops = 0;           ///< its part of the runtime's
  int scheduled = 0;             ///< > 0: it carries out a schedule
  int quiet = 0;                 ///< > 0: what it frees is no doing of the job's
  const char* op = nullptr;      ///< name of the op that it runs; null: none
  at::Tensor* copied = nullptr;  ///< where to put what autograd copies in its call; null: nobody asks
  std::int64_t op_bytes = 0;     ///< what its op has taken and not given back so far, as allocators report it
};

inline ThreadState& this_thread() noexcept {
  constinit thread_local ThreadState state;
  return state;
}

/// While it exists, `depth` is one more.
class Deeper {
 public:
  explicit Deeper(int& depth, bool really = true) : depth_(depth), by_(really ? 1 : 0) { depth_ += by_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { depth_ -= by_; }

 private:
  int& depth_;
  const int by_;
};

/// While it exists, what the thread evicts is rescue's doing, though it may be in the midst of a schedule's.
class Rescuing {
 public:
  Rescuing() noexcept : scheduled_(std::exchange(this_thread().scheduled, 0)) {}
  Rescuing(const Rescuing&) = delete;
  Rescuing& operator=(const Rescuing&) = delete;
  ~Rescuing() { this_thread().scheduled = scheduled_; }

 private:
  const int scheduled_;
};

}  // namespace stowage::recompute
