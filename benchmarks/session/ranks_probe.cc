// ranks_probe JOB REPEATS RANKS…: what it takes until all ranks of a job have the plans that one of them
// makes.
//
// JOB is resnet50, gpt2 or micro_batches: a trace of its size. Each rank is a thread with a connection of its
// own to one TCPStore, and does what a session's planner does (session/ranks/exchange.h): one claims and
// plans, the others look. Connections are made before, and timed by themselves, since that is mostly a matter
// of names that are looked up. Prints a JSON object; times are medians over the repetitions, in ms. ranks.py
// runs it.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "core/format/kept_plans_file.h"
#include "planner/joint_planner.h"
#include "planner/kinds/kind_book.h"
#include "planner/kinds/received_plans.h"
#include "plugin/torch/process_group.h"
#include "session/ranks/exchange.h"
#include "tests/planner/training_traces.h"

namespace {

using namespace stowage;
using session::Exchange;
using Clock = std::chrono::steady_clock;
using Encoded = Exchange::Value;

double ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

planner::Kinds kinds_of(const std::string& name) {
  static const std::map<std::string, planner::Job (*)()> jobs{
      {"resnet50", planner::resnet50},
      {"gpt2", planner::gpt2},
      {"micro_batches", [] { return planner::gpt_in_micro_batches(20'000, 24, true); }}};
  planner::KindBook book;
  const Trace trace = planner::training_trace(jobs.at(name)());
  if (!book.observe(trace, [](std::uint64_t) { return true; })) std::abort();
  return book.kinds();
}

Encoded planned(const planner::Kinds& kinds) {
  planner::JointOptions options;
  options.good_enough = 0.001;
  KeptPlans kept;
  kept.plans = planner::make_plans(kinds, options)->plans;
  return *encode_kept_plans(kept);
}

void check(const planner::Kinds& kinds, const Encoded& value) {
  Result<KeptPlans> kept = decode_kept_plans(value);
  if (!planner::accept_plans(kinds, DeviceKind::kCpu, {}, {}, {}, std::move(kept->plans))) std::abort();
}

template <class Work>
double median_ms(int repeats, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto begun = Clock::now();
    work();
    times.push_back(ms(Clock::now() - begun));
  }
  return median(times);
}

struct Rank {
  bool claimed = false;
  double claim_ms = 0;
  Clock::time_point ready{};  // it sends what it made, or has what another one sent
  std::uint64_t looks = 0;
};

Rank take_part(const session::RankGroup& group, const std::string& name, const planner::Kinds& kinds) {
  Rank rank;
  session::ExchangeLimits limits;
  limits.patience = std::chrono::minutes(1);
  limits.call = std::chrono::minutes(1);
  const auto begun = Clock::now();
  Exchange exchange(group, name, limits, {});
  const std::optional<Encoded> received = exchange.claim_or_receive();
  rank.claimed = exchange.claimed();
  if (rank.claimed) {
    rank.claim_ms = ms(Clock::now() - begun);
    Encoded made = planned(kinds);
    rank.ready = Clock::now();
    exchange.publish(std::move(made), true);
  } else if (received) {
    rank.ready = Clock::now();
  }
  rank.looks = exchange.counts().looks;
  if (!exchange.counts().failure.empty() || (!rank.claimed && !received)) {
    std::fprintf(stderr, "a rank got nothing: %s\n", exchange.counts().failure.c_str());
    std::_Exit(1);
  }
  return rank;
}

/// A connection that is made once and serves one exchange after the other.
class Borrowed final : public session::RankStore {
 public:
  explicit Borrowed(RankStore& store) : store_(store) {}
  Status set(const std::string& key, const Encoded& value) override { return store_.set(key, value); }
  Result<std::optional<Encoded>> get(const std::string& key) override { return store_.get(key); }
  Result<std::int64_t> add(const std::string& key, std::int64_t amount) override {
    return store_.add(key, amount);
  }

 private:
  RankStore& store_;
};

struct Connections {
  std::vector<std::unique_ptr<session::RankStore>> stores;
  double median_ms = 0;
};

Connections connect(const session::RankGroup& group, std::uint64_t ranks) {
  Connections made;
  std::vector<double> times;
  for (std::uint64_t i = 0; i < ranks; ++i) {
    const auto begun = Clock::now();
    auto connected = group.connect();
    times.push_back(ms(Clock::now() - begun));
    made.stores.push_back(std::move(*connected));
  }
  made.median_ms = median(times);
  return made;
}

session::RankGroup group_of(const Connections& connections, std::uint64_t ranks) {
  session::RankGroup group;
  group.size = ranks;
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  group.connect = [&connections, next]() -> Result<std::unique_ptr<session::RankStore>> {
    return std::unique_ptr<session::RankStore>(std::make_unique<Borrowed>(*connections.stores.at((*next)++)));
  };
  return group;
}

nlohmann::json measure(const Connections& connections, std::uint64_t ranks, int repeats,
                       const planner::Kinds& kinds, const std::string& job) {
  std::vector<double> firsts, lasts, looks, claims;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const std::string name = job + std::to_string(ranks) + "/" + std::to_string(repeat);
    const session::RankGroup group = group_of(connections, ranks);
    std::vector<Rank> took(ranks);
    std::barrier begin(static_cast<std::ptrdiff_t>(ranks));
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < ranks; ++i)
      threads.emplace_back([&, i] {
        begin.arrive_and_wait();
        took[i] = take_part(group, name, kinds);
      });
    threads.clear();
    const auto sender = std::find_if(took.begin(), took.end(), [](const Rank& one) { return one.claimed; });
    std::vector<double> delays, looked;
    for (const Rank& rank : took) {
      if (rank.claimed) continue;
      delays.push_back(ms(rank.ready - sender->ready));
      looked.push_back(static_cast<double>(rank.looks));
    }
    firsts.push_back(median(delays));
    lasts.push_back(*std::max_element(delays.begin(), delays.end()));
    looks.push_back(median(looked));
    claims.push_back(sender->claim_ms);
  }
  return {{"ranks", ranks},
          {"median_ms", median(firsts)},
          {"last_ms", median(lasts)},
          {"looks", median(looks)},
          {"claim_ms", median(claims)}};
}

/// Of eight connections that look all the time: what the server can answer at most.
double looks_per_s(const session::RankGroup& group) {
  constexpr int kThreads = 8;
  constexpr int kLooks = 2000;
  std::vector<std::unique_ptr<session::RankStore>> stores;
  for (int i = 0; i < kThreads; ++i) {
    auto connected = group.connect();
    stores.push_back(std::move(*connected));
  }
  const auto begun = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (const auto& store : stores)
      threads.emplace_back([&store] {
        for (int i = 0; i < kLooks; ++i) static_cast<void>(store->get("nothing"));
      });
  }
  return kThreads * kLooks * 1000.0 / ms(Clock::now() - begun);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() < 4) {
    std::fprintf(stderr, "usage: ranks_probe resnet50|gpt2|micro_batches REPEATS RANKS…\n");
    return 1;
  }
  const std::string job = arguments[1];
  const int repeats = std::max(1, std::atoi(arguments[2]));
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const auto processes = c10::make_intrusive<c10d::ProcessGroup>(store, 0, 2);
  c10d::register_process_group("0", processes);
  const std::optional<session::RankGroup> group = plugin::default_process_group();
  if (!group) std::abort();
  const planner::Kinds kinds = kinds_of(job);
  const Encoded value = planned(kinds);
  std::size_t allocations = 0;
  for (const planner::Kind& kind : kinds.kinds) allocations += kind.allocations.size();
  std::uint64_t most = 0;
  for (const char* const ranks : arguments.subspan(3))
    most = std::max<std::uint64_t>(most, std::strtoull(ranks, nullptr, 10));
  const Connections connections = connect(*group, most);
  nlohmann::json told{{"job", job},
                      {"allocations", allocations},
                      {"plan_bytes", value.size()},
                      {"planning_ms", median_ms(repeats, [&] { planned(kinds); })},
                      {"check_ms", median_ms(repeats, [&] { check(kinds, value); })},
                      {"looks_per_s", looks_per_s(*group)},
                      {"connect_ms", connections.median_ms},
                      {"rows", nlohmann::json::array()}};
  for (const char* const ranks : arguments.subspan(3))
    told["rows"].push_back(measure(connections, std::strtoull(ranks, nullptr, 10), repeats, kinds, job));
  std::printf("%s\n", told.dump().c_str());
  std::fflush(stdout);
  std::_Exit(0);  // torch's own end of a process is not what is measured
}
