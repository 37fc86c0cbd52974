#include "recompute/threads/suspension.h"

#include <atomic>

namespace stowage::recompute {
namespace {

std::atomic<int> unseen_ops{0};
std::atomic<int> suspensions{0};

}  // namespace

bool unseen_op_runs() noexcept { return unseen_ops.load() > 0 || suspended(); }

UnseenOpRuns::UnseenOpRuns() noexcept { ++unseen_ops; }
UnseenOpRuns::~UnseenOpRuns() { --unseen_ops; }

void begin_suspension() noexcept { ++suspensions; }

void end_suspension() noexcept {
  int now = suspensions.load();
  while (now > 0 && !suspensions.compare_exchange_weak(now, now - 1)) {
  }
}

bool suspended() noexcept { return suspensions.load(std::memory_order_relaxed) > 0; }

}  // namespace stowage::recompute
