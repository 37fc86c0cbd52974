#include "core/support/fork.h"

#include <pthread.h>

#include <algorithm>
#include <vector>

namespace stowage {
namespace {

struct Ranked {
  ForkRank rank;
  ForkHandler handler;
};

struct Handlers {
  std::mutex mutex;
  std::vector<Ranked> in_order;
};

Handlers& handlers() {
  static auto* const instance = new Handlers;
  return *instance;
}

// Those that were called by the thread, which is forking. Several threads may fork at once.
thread_local std::vector<Ranked> called;

// A handler may wait for long: the list is locked before and after that, not meanwhile.
void before_fork() {
  {
    const std::lock_guard<std::mutex> lock(handlers().mutex);
    called = handlers().in_order;
  }
  for (const auto& [rank, handler] : called) handler.before(handler.subject);
  handlers().mutex.lock();
}

void after_fork(void (*ForkHandler::*after)(void*)) {
  handlers().mutex.unlock();
  for (auto one = called.rbegin(); one != called.rend(); ++one) (one->handler.*after)(one->handler.subject);
}

}  // namespace

void handle_forks(ForkRank rank, const ForkHandler& handler) {
  static std::once_flag once;
  std::call_once(once, [] {
    handlers();
    pthread_atfork(
        &before_fork, [] { after_fork(&ForkHandler::in_parent); },
        [] { after_fork(&ForkHandler::in_child); });
  });
  const std::lock_guard<std::mutex> lock(handlers().mutex);
  auto& all = handlers().in_order;
  const auto same = [&](const Ranked& one) { return one.handler.subject == handler.subject; };
  if (std::any_of(all.begin(), all.end(), same)) return;
  const auto after = [&](const Ranked& one) { return one.rank > rank; };
  all.insert(std::find_if(all.begin(), all.end(), after), {rank, handler});
}

void hold_over_forks(std::mutex& mutex) {
  constexpr auto kUnlock = [](void* one) { static_cast<std::mutex*>(one)->unlock(); };
  handle_forks(ForkRank::kLeaf,
               {[](void* one) { static_cast<std::mutex*>(one)->lock(); }, kUnlock, kUnlock, &mutex});
}

}  // namespace stowage
