// Calls a store of ranks from a thread of its own, so that no call lasts longer than its caller allows.
//
// A store's server may die, hang, or be unreachable in the middle of a call, and no store promises to return
// then. The caller waits for an answer for so long and no longer. Where none came the thread is left to
// itself: it owns all that it uses, and ends with its call.
//
// Thread safety: one owner. Every exception of the store ends as an error.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/result.h"
#include "session/ports/rank_group.h"

namespace stowage::session {

class StoreThread {
 public:
  using Connect = std::function<Result<std::unique_ptr<RankStore>>()>;

  /// Connects at once, on the new thread. Where no thread can be started, every call is an error.
  explicit StoreThread(Connect connect);
  /// Waits for the thread unless it is inside a call.
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  /// What `work`, which must own what it uses, returns: a Result or a Status. Errors besides: kTimeout after
  /// `bound`, kCancelled, and what ended the connection. After any of these no further call is made.
  template <class Work>
  auto call(Work work, std::chrono::nanoseconds bound, const std::stop_token& stop)
      -> std::invoke_result_t<Work, RankStore&> {
    using Answer = std::invoke_result_t<Work, RankStore&>;
    auto answer = std::make_shared<std::optional<Answer>>();
    const Status done = run(
        [answer, work = std::move(work)](RankStore& store) { answer->emplace(work(store)); }, bound, stop);
    if (!done) return done.error();
    return std::move(**answer);
  }

 private:
  using Task = std::function<void(RankStore&)>;
  struct Line;
  static void serve(const std::shared_ptr<Line>& line, const Connect& connect) noexcept;
  Status run(Task task, std::chrono::nanoseconds bound, const std::stop_token& stop);

  std::shared_ptr<Line> line_;
};

}  // namespace stowage::session
