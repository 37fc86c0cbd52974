#include "session/ranks/exchange.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace stowage::session {
namespace {

using Clock = std::chrono::steady_clock;

/// Less if `stop` comes.
void sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

Exchange::Exchange(const RankGroup& group, std::string name, const ExchangeLimits& limits,
                   std::stop_token stop)
    : name_(std::move(name)),
      limits_(limits),
      first_look_(limits.first_look + static_cast<std::int64_t>(group.size) * limits.for_each_rank),
      stop_(std::move(stop)),
      store_(group.connect) {}

std::string Exchange::claims_of(int claimant) const { return name_ + "/claims/" + std::to_string(claimant); }

std::optional<std::int64_t> Exchange::add(const std::string& key, std::int64_t amount) {
  Result<std::int64_t> sum =
      store_.call([=](RankStore& store) { return store.add(key, amount); }, limits_.call, stop_);
  if (sum) return *sum;
  counts_.failure = sum.error().message;
  return std::nullopt;
}

std::optional<Exchange::Value> Exchange::look() {
  ++counts_.looks;
  Result<std::optional<Value>> found =
      store_.call([name = name_](RankStore& store) { return store.get(name); }, limits_.call, stop_);
  if (found) return std::move(*found);
  counts_.failure = found.error().message;
  return std::nullopt;
}

std::optional<Exchange::Value> Exchange::wait_for_result() {
  const auto begun = Clock::now();
  std::optional<Value> found = look();
  while (!found && !failed() && !stop_.stop_requested()) {
    const std::chrono::nanoseconds so_far = Clock::now() - begun;
    if (so_far >= limits_.patience) break;
    const auto later = std::chrono::duration_cast<std::chrono::nanoseconds>(so_far * limits_.slower);
    sleep_for(std::min<std::chrono::nanoseconds>(std::max(first_look_, later), limits_.patience - so_far),
              stop_);
    found = look();
  }
  counts_.waited += Clock::now() - begun;
  return found;
}

std::optional<Exchange::Value> Exchange::claim_or_receive() {
  for (claimant_ = 0; claimant_ < limits_.claimants; ++claimant_) {
    const std::optional<std::int64_t> place = add(claims_of(claimant_), 1);
    if (!place) return std::nullopt;
    claimed_ = *place == 1;
    if (claimed_) return std::nullopt;
    std::optional<Value> found = wait_for_result();
    if (found) counts_.received_bytes += found->size();
    if (found && !found->empty()) return found;
    if (found || failed() || stop_.stop_requested()) return std::nullopt;
  }
  return std::nullopt;
}

void Exchange::publish(Value result, bool even_unasked) {
  if (failed()) return;
  const std::optional<std::int64_t> asked = even_unasked ? 2 : add(claims_of(claimant_), 0);
  if (!asked) return;
  if (*asked < 2 || result.size() > limits_.most_bytes) result.clear();
  const std::uint64_t bytes = result.size();
  const Status set = store_.call(
      [name = name_, result = std::move(result)](RankStore& store) { return store.set(name, result); },
      limits_.call, stop_);
  if (set) counts_.sent_bytes += bytes;
  if (!set) counts_.failure = set.error().message;
}

}  // namespace stowage::session
