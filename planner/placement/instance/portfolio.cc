#include "planner/placement/instance/portfolio.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/support/extremes.h"

namespace stowage::planner::placement {
namespace {

constexpr std::uint64_t kNoHeight = std::numeric_limits<std::uint64_t>::max();

/// What members have come to. Only the best draft is kept: those of a million pieces take megabytes each, and
/// a cancelled job waits until they are returned. Thread safety: any member from any thread.
class Standings {
 public:
  explicit Standings(std::size_t members) : heights_(members, kNoHeight), work_(members, 0) {}

  void enter(std::uint32_t rank, std::uint64_t work, Draft&& draft) {
    work_[rank] = work;
    if (draft.offsets.empty()) return;
    heights_[rank] = draft.height;
    const std::lock_guard lock(mutex_);
    if (best_.offsets.empty() || std::pair(draft.height, rank) < std::pair(best_.height, winner_)) {
      best_ = std::move(draft);
      winner_ = rank;
    }
  }

  /// To be called once, when no member runs any more.
  std::optional<PortfolioResult> result(std::uint64_t goal) {
    if (best_.offsets.empty()) return std::nullopt;
    PortfolioResult result;
    result.winner = winner_;
    result.heights = std::move(heights_);
    const bool reached = best_.height <= goal;
    for (std::size_t rank = 0; rank < work_.size() && (!reached || rank <= winner_); ++rank)
      result.work += work_[rank];
    result.draft = std::move(best_);
    return result;
  }

 private:
  std::vector<std::uint64_t> heights_;
  std::vector<std::uint64_t> work_;
  std::mutex mutex_;
  Draft best_;
  std::uint32_t winner_ = 0;
};

// TBB orders its tasks after what the caller did before them, and before what it does next. ThreadSanitizer,
// which cannot see into libtbb, is told so by atomics: this one, before a task looks at anything, and one at
// its end.
std::atomic<std::uint32_t> begun{0};

}  // namespace

void for_each_rank(std::uint32_t count, int threads, const std::function<void(std::uint32_t)>& body) {
  const auto serial = [&] {
    for (std::uint32_t rank = 0; rank < count; ++rank) body(rank);
  };
  if (threads == 1 || count == 1) return serial();
  try {
    tbb::task_arena arena(threads == 0 ? tbb::task_arena::automatic : threads, 1,
                          tbb::task_arena::priority::low);
    std::atomic<std::uint32_t> next{0};  // whoever is free takes the next rank, not a far one
    std::atomic<std::uint32_t> ended{0};
    const auto run_next = [&](std::uint32_t) {
      begun.load();
      body(next.fetch_add(1));
      ended.fetch_add(1);
    };
    begun.fetch_add(1);
    arena.execute([&] {
      tbb::parallel_for(std::uint32_t{0}, count, std::uint32_t{1}, run_next, tbb::simple_partitioner());
    });
    ended.load();
  } catch (const std::system_error&) {
    serial();  // no thread to be had: the same result, later
  }
}

std::optional<PortfolioResult> run_portfolio(const Instance& instance, const std::vector<Member>& members,
                                             const Limits& limits, std::uint64_t share,
                                             const Privileged& privileged, int threads) {
  if (members.empty()) return std::nullopt;
  Race race{std::numeric_limits<std::uint32_t>::max()};
  Standings standings(members.size());
  Limits patient = limits;
  patient.deadline = std::chrono::steady_clock::time_point::max();
  patient.shared = nullptr;
  for_each_rank(static_cast<std::uint32_t>(members.size()), threads, [&](std::uint32_t rank) {
    const Limits& own = rank < privileged.patient ? patient : limits;
    if (race.load(std::memory_order_relaxed) < rank || own.over()) return;
    WorkMeter meter(own, rank < privileged.unlimited ? kNoHeight : share, race, rank);
    Draft draft;
    if (!members[rank].run(meter, draft)) draft.offsets.clear();
    if (!draft.offsets.empty() && draft.height <= instance.low_enough())
      lower_to(race, rank, std::memory_order_seq_cst);
    standings.enter(rank, meter.used(), std::move(draft));
  });
  return standings.result(instance.low_enough());
}

}  // namespace stowage::planner::placement
