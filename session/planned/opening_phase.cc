#include "session/planned/opening_phase.h"

namespace stowage::session {
namespace {

constexpr double kMostInside = 0.5;  // of an iteration's requests, while it runs
constexpr double kFew = 0.01;        // of all requests
constexpr double kInOrder = 0.05;    // of the requests at most are off a plan whose order the job follows

}  // namespace

void OpeningPhase::begin(std::uint32_t iterations) {
  iterations_ = iterations;
  ended_ = 0;
  sum_ = {};
  serving_.store(&arena_.allocator(), std::memory_order_release);
  begin_iteration();
  on_.store(true, std::memory_order_release);
}

OpeningPhase::Counts OpeningPhase::count() const {
  const allocator::ServeCounts counts = serving_.load(std::memory_order_acquire)->counts();
  Counts sum{counts.hits + counts.planned_upstream, counts.improvised, counts.displaced};
  for (const std::uint64_t misses : counts.misses) sum.off_plan += misses;
  sum.requests += sum.off_plan;
  sum.off_plan -= sum.displaced;
  return sum;
}

OpeningPhase::Counts OpeningPhase::count_since() const {
  const Counts now = count();
  const Counts before{requests_before_.load(std::memory_order_relaxed),
                      off_plan_before_.load(std::memory_order_relaxed),
                      displaced_before_.load(std::memory_order_relaxed)};
  if (now.requests < before.requests || now.off_plan < before.off_plan || now.displaced < before.displaced)
    return {};  // another one has begun meanwhile
  return {now.requests - before.requests, now.off_plan - before.off_plan, now.displaced - before.displaced};
}

void OpeningPhase::begin_iteration() {
  const Counts now = count();
  requests_before_.store(now.requests, std::memory_order_relaxed);
  off_plan_before_.store(now.off_plan, std::memory_order_relaxed);
  displaced_before_.store(now.displaced, std::memory_order_relaxed);
}

// What finds its place in use is no sign of another job as long as nearly all comes in the plan's order.
bool OpeningPhase::Counts::exceed(double share) const {
  const auto all = static_cast<double>(requests), off = static_cast<double>(off_plan);
  return (off > kInOrder * all ? off + static_cast<double>(displaced) : off) > share * all;
}

bool OpeningPhase::leaves_at_request() {
  if (looks_.fetch_add(1, std::memory_order_relaxed) % kRequestsPerLook != 0) return false;
  const Counts now = count_since();
  return now.requests >= kLeastRequests && now.exceed(kMostInside);
}

bool OpeningPhase::fits_roughly() const {
  return static_cast<double>(sum_.off_plan + sum_.displaced) > kFew * static_cast<double>(sum_.requests);
}

OpeningPhase::Verdict OpeningPhase::on_iteration() {
  const Counts its = count_since();
  begin_iteration();
  ++ended_;
  sum_.requests += its.requests;
  sum_.off_plan += its.off_plan;
  sum_.displaced += its.displaced;
  if (its.exceed(settings_.miss_tolerance)) return Verdict::kUnfit;
  return ended_ == iterations_ ? Verdict::kOver : Verdict::kGoOn;
}

}  // namespace stowage::session
