// Random jobs that are automata of kinds of iterations, on whole sessions: blocks never overlap, and plans
// are followed once each kind was learned, with kept tensors and exceptions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "session/session.h"
#include "tests/planner/kinds/automata.h"
#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

using planner::AutomatonOptions;
using planner::Step;

/// Runs the steps of a job, and checks each address by an account of its own.
class AutomatonJob {
 public:
  /// `lasting`: blocks of as many sizes that are made first and stay; `seed` makes the sizes.
  explicit AutomatonJob(Settings settings = {}, int lasting = 0, std::uint32_t seed = 0) {
    port_.caches = true;
    port_.on_touch = true;  // the arena has its memory from the beginning
    settings.plan_wait_ms = 60'000;
    settings.plan_work = 2'000'000;
    settings.max_plans = 16;
    session_ = std::make_unique<Session>(port_, no_torch(), settings, nullptr);
    job_ = std::make_unique<FakeJob>(port_, *session_);
    job_->free(job_->allocate(64 << 20));  // small jobs are all rounding: memory is no reason to leave a plan
    std::minstd_rand random(seed + 1);
    for (int i = 0; i < lasting; ++i)
      allocate({Step::What::kAllocate, kLasting + static_cast<std::uint32_t>(i), 512 * (1 + random() % 64)});
  }
  ~AutomatonJob() {
    for (const auto& [begin, block] : live_) job_->free(reinterpret_cast<void*>(begin));
    session_->stop_and_wait();
  }

  void run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      switch (step.what) {
        case Step::What::kAllocate:
          allocate(step);
          break;
        case Step::What::kFree:
          release(step);
          break;
        case Step::What::kMark:
          session_->on_mark(MarkSource::kOptimizer);
          note_iteration();
          break;
        case Step::What::kException:
          changed_ = true;
      }
    }
  }
  /// The most planned iterations in a row that had misses, after each change, since the last call. An
  /// iteration with an exception in it is a change, and so is an exchange of the plans.
  int longest_off() { return std::exchange(longest_off_, off_ = 0); }
  [[nodiscard]] bool overlapped() const { return overlapped_; }
  [[nodiscard]] SessionState state() const { return session_->state(); }
  [[nodiscard]] nlohmann::json report() const { return nlohmann::json::parse(session_->report_json()); }

  [[nodiscard]] std::uint64_t requests() const { return requests_; }

 private:
  static constexpr std::uint32_t kLasting = 1u << 31u;
  void allocate(const Step& step) {
    ++requests_;
    void* const address = job_->allocate(step.bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const auto above = live_.lower_bound(begin);
    overlapped_ |= above != live_.end() && above->first < begin + step.bytes;
    overlapped_ |= above != live_.begin() && std::prev(above)->second > begin;
    live_[begin] = begin + step.bytes;
    address_[step.buffer] = begin;
  }
  void release(const Step& step) {
    const std::uintptr_t begin = address_.at(step.buffer);
    job_->free(reinterpret_cast<void*>(begin));
    live_.erase(begin);
    address_.erase(step.buffer);
  }

  void note_iteration() {
    const nlohmann::json now = report();
    const bool off = now.at("state") == "planned" && now.at("last_iteration_misses") != 0;
    const std::uint64_t height = now.at("arena_bytes").get<std::uint64_t>();
    changed_ |= std::exchange(height_, height) != height;
    const bool changed = std::exchange(changed_, false);
    off_ = off && !changed ? off_ + 1 : 0;
    longest_off_ = std::max(longest_off_, off_);
  }

  FakePort port_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<FakeJob> job_;
  int off_ = 0, longest_off_ = 0;
  bool changed_ = false;
  std::uint64_t height_ = 0;
  std::map<std::uintptr_t, std::uintptr_t> live_;  ///< by begin
  std::map<std::uint32_t, std::uintptr_t> address_;
  std::uint64_t requests_ = 0;
  bool overlapped_ = false;
};

/// Of many seeds: blocks never overlap; how many iterations and requests were off the plan in the second
/// half.
struct Followed {
  std::uint64_t iterations = 0, clean = 0, requests = 0, missed = 0;
  int planned = 0;
  int soon_back = 0;  ///< jobs that were never off their plans for more than two iterations in a row
};

Followed follow_all(int seeds, const AutomatonOptions& options) {
  Followed sum;
  for (int seed = 0; seed < seeds; ++seed) {
    AutomatonOptions own = options;
    own.kinds = 1 + seed % options.kinds;
    const std::vector<Step> steps = planner::run_automaton(static_cast<std::uint64_t>(seed), own);
    AutomatonJob job;
    const auto half = static_cast<std::ptrdiff_t>(steps.size() / 2);
    job.run({steps.begin(), steps.begin() + half});
    job.longest_off();
    const nlohmann::json before = job.report();
    job.run({steps.begin() + half, steps.end()});
    EXPECT_FALSE(job.overlapped()) << "seed " << seed;
    if (job.state() != SessionState::kPlanned) continue;
    const nlohmann::json after = job.report();
    if (before.at("replans") != after.at("replans") || before.at("state") != "planned") continue;
    ++sum.planned;
    sum.soon_back += job.longest_off() <= 2 ? 1 : 0;
    const auto more = [&](const char* key) {
      return after.at(key).get<std::uint64_t>() - before.at(key).get<std::uint64_t>();
    };
    sum.iterations += more("planned_iterations");
    sum.clean += more("clean_iterations");
    sum.requests += more("hits") + more("improvised") + more("planned_upstream");
    for (const auto& [reason, count] : after.at("misses").items())
      sum.missed += count.get<std::uint64_t>() - before.at("misses").at(reason).get<std::uint64_t>();
  }
  return sum;
}

void expect_followed(const Followed& sum, int seeds, double clean, double missed, double soon_back) {
  EXPECT_GE(sum.planned, seeds * 9 / 10);
  EXPECT_GE(static_cast<double>(sum.clean), clean * static_cast<double>(sum.iterations));
  EXPECT_LE(static_cast<double>(sum.missed), missed * static_cast<double>(sum.requests));
  EXPECT_GE(sum.soon_back, soon_back * sum.planned);
  testing::Test::RecordProperty("soon_back",
                                std::to_string(sum.soon_back) + " of " + std::to_string(sum.planned));
  testing::Test::RecordProperty("clean", std::to_string(sum.clean) + " of " + std::to_string(sum.iterations));
  testing::Test::RecordProperty("missed", std::to_string(sum.missed) + " of " + std::to_string(sum.requests));
}

AutomatonOptions long_jobs(int kinds, int exceptions = 0) {
  AutomatonOptions options;
  options.kinds = kinds;
  options.iterations = 240;
  options.most_allocations = 30;
  options.exceptions = exceptions;
  return options;
}

TEST(SessionAutomata, KindsThatComeAgainAreFollowed) {
  expect_followed(follow_all(250, long_jobs(5)), 250, 0.95, 0.005, 1.0);
}

TEST(SessionAutomata, AndAfterExceptions) {
  expect_followed(follow_all(250, long_jobs(5, /*exceptions=*/4)), 250, 0.95, 0.005, 1.0);
}

// Two of its kinds leave blocks alive that meet in a third one alone: placed one after the other, they
// overlapped.
TEST(SessionAutomata, WhatMeetsInAThirdKindIsPlacedAtOnce) {
  AutomatonJob job;
  job.run(planner::run_automaton(3113, long_jobs(4, /*exceptions=*/4)));
  EXPECT_EQ(job.state(), SessionState::kPlanned) << job.report();
}

// The same command runs a job, the same again, another one, and that again.
TEST(SessionAutomata, SecondRunsNeverOverlapAndFollowTheirPlansFromTheStart) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("stowage-automata-" + std::to_string(getpid()));
  AutomatonOptions options;
  options.iterations = 60;
  options.most_allocations = 30;
  int began = 0;
  std::uint64_t hits = 0, missed = 0, requests = 0;
  for (std::uint32_t seed = 0; seed < 80; ++seed) {
    std::filesystem::remove_all(folder);
    Settings settings;
    settings.plan_cache = folder.string();
    settings.command = "train.py";
    for (const std::uint32_t job_seed : {seed, seed, seed + 1000, seed + 1000}) {
      AutomatonJob job(settings, 40, job_seed);
      job.run(planner::run_automaton(job_seed, options));
      EXPECT_FALSE(job.overlapped()) << "seed " << job_seed;
      const nlohmann::json report = job.report();
      if (!report.at("planned_from_start").get<bool>()) continue;
      ++began;
      hits += report.at("hits").get<std::uint64_t>() + report.at("improvised").get<std::uint64_t>();
      requests += job.requests();
      for (const auto& [reason, count] : report.at("misses").items()) missed += count.get<std::uint64_t>();
    }
  }
  std::filesystem::remove_all(folder);
  EXPECT_GE(began, 80 * 2 * 8 / 10);
  EXPECT_GE(static_cast<double>(hits), 0.9 * static_cast<double>(requests))
      << "others are upstream's by plan";
  EXPECT_LE(static_cast<double>(missed), 0.02 * static_cast<double>(requests));
  testing::Test::RecordProperty("hits", std::to_string(hits) + " of " + std::to_string(requests));
  testing::Test::RecordProperty("missed", std::to_string(missed) + " of " + std::to_string(requests));
}

}  // namespace
}  // namespace stowage::session
