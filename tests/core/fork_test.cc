// A forked child finds locks free and what they guard whole.
#include "core/support/fork.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace stowage {
namespace {

using namespace std::chrono_literals;

// Exit status of a child that runs `work`; -1 if it hangs.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  for (int i = 0; i < 1000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WEXITSTATUS(status);
    std::this_thread::sleep_for(10ms);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

TEST(Fork, LocksOfOtherThreadsAreFreeInTheChild) {
  static std::mutex mutex;
  static int guarded = 0;
  hold_over_forks(mutex);
  hold_over_forks(mutex);  // once is enough
  std::atomic<bool> over{false};
  std::thread busy([&] {
    while (!over) {
      const std::lock_guard<std::mutex> lock(mutex);
      ++guarded;
      std::this_thread::sleep_for(1ms);
      ++guarded;
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([] {
                const std::lock_guard<std::mutex> lock(mutex);
                return guarded % 2;
              }),
              0);
  }
  over = true;
  busy.join();
}

std::string order;  // of calls

template <char kName>
ForkHandler noting(void* subject) {
  return {[](void*) { order += kName; }, [](void*) { order += kName; },
          [](void*) { order += static_cast<char>(kName + 1); }, subject};
}

TEST(Fork, HandlersComeInOrderOfRankAndGoInReverse) {
  static int leaf = 0;
  static int runtime = 0;
  handle_forks(ForkRank::kLeaf, noting<'l'>(&leaf));
  handle_forks(ForkRank::kRuntime, noting<'r'>(&runtime));
  order.clear();
  EXPECT_EQ(in_child([] { return order == "rlms" ? 0 : 1; }), 0);
  EXPECT_EQ(order, "rllr");
}

}  // namespace
}  // namespace stowage
