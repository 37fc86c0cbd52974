#include "tests/planner/kinds/automata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "planner/kinds/kind_book.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

/// An allocation of a kind, and where it is freed: `iterations` later, before allocation `ordinal`.
struct Request {
  std::uint64_t bytes = 0;
  std::uint32_t iterations = 0;
  std::uint32_t ordinal = 0;
};
using Program = std::vector<Request>;

class Automaton {
 public:
  Automaton(std::uint64_t seed, const AutomatonOptions& options) : random_(seed), options_(options) {
    for (int kind = 0; kind < options.kinds; ++kind) programs_.push_back(program());
    for (int kind = 1; kind < options.kinds; ++kind) {
      intervals_.push_back(pick(2, 6));
      if (pick(0, 1) != 0) begin_like_the_first(programs_[static_cast<std::size_t>(kind)]);
    }
  }

  std::vector<Step> run() {
    for (std::uint32_t iteration = 0; iteration < static_cast<std::uint32_t>(options_.iterations);
         ++iteration)
      run_iteration(iteration, programs_[kind_at(iteration)]);
    return std::move(steps_);
  }

 private:
  std::uint32_t pick(std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(random_);
  }

  Program program() {
    const std::uint32_t length = pick(4, static_cast<std::uint32_t>(options_.most_allocations));
    Program made;
    for (std::uint32_t k = 0; k < length; ++k) made.push_back(request(k, length));
    return made;
  }

  Request request(std::uint32_t k, std::uint32_t length) {
    Request made{512 * std::uint64_t{pick(1, pick(0, 3) == 0 ? 4000 : 60)}, 0, 0};
    const std::uint32_t sort = pick(0, 19);
    if (sort < 4) {  // a gradient: the next iteration frees it
      made.iterations = 1;
      made.ordinal = pick(0, length);
    } else if (sort == 4 && options_.kept) {
      made.iterations = pick(2, 3);
      made.ordinal = pick(0, length);
    } else {
      made.ordinal = std::min(length, k + 1 + pick(0, pick(0, 2) == 0 ? length : 4));
    }
    return made;
  }

  void begin_like_the_first(Program& program) {
    const std::size_t alike =
        pick(1, static_cast<std::uint32_t>(std::min(program.size(), programs_[0].size())));
    for (std::size_t k = 0; k < alike; ++k) program[k].bytes = programs_[0][k].bytes;
  }

  std::size_t kind_at(std::uint32_t iteration) const {
    for (std::size_t kind = intervals_.size(); kind > 0; --kind) {
      if (iteration % intervals_[kind - 1] == intervals_[kind - 1] - 1) return kind;
    }
    return 0;
  }

  /// An iteration that an exception ends: what it made is gone, and so is what it should have freed later.
  void abort_iteration(std::uint32_t iteration, const Program& program) {
    std::vector<std::uint32_t> live;
    const std::uint32_t length = pick(1, static_cast<std::uint32_t>(program.size()));
    for (std::uint32_t k = 0; k < length; ++k) {
      free_due(iteration, k);
      live.push_back(next_++);
      steps_.push_back({Step::What::kAllocate, live.back(), program[k].bytes});
    }
    while (!live.empty()) {
      steps_.push_back({Step::What::kFree, live.back()});
      live.pop_back();
    }
    steps_.push_back({Step::What::kException});
  }

  void run_iteration(std::uint32_t iteration, const Program& program) {
    const auto length = static_cast<std::uint32_t>(program.size());
    if (pick(1, 100) <= static_cast<std::uint32_t>(options_.exceptions)) abort_iteration(iteration, program);
    for (std::uint32_t k = 0; k < length; ++k) {
      free_due(iteration, k);
      const std::uint32_t buffer = next_++;
      steps_.push_back({Step::What::kAllocate, buffer, program[k].bytes});
      due_[{iteration + program[k].iterations, program[k].ordinal}].push_back(buffer);
    }
    for (std::uint32_t k = length; k <= static_cast<std::uint32_t>(options_.most_allocations); ++k)
      free_due(iteration, k);
    steps_.push_back({Step::What::kMark});
  }

  void free_due(std::uint32_t iteration, std::uint32_t ordinal) {
    const auto found = due_.find({iteration, ordinal});
    if (found == due_.end()) return;
    for (const std::uint32_t buffer : found->second) steps_.push_back({Step::What::kFree, buffer});
    due_.erase(found);
  }

  std::mt19937_64 random_;
  const AutomatonOptions options_;
  std::vector<Program> programs_;
  std::vector<std::uint32_t> intervals_;  ///< of the kinds but the first
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> due_;  ///< buffers to free
  std::vector<Step> steps_;
  std::uint32_t next_ = 0;
};

}  // namespace

std::vector<Step> run_automaton(std::uint64_t seed, const AutomatonOptions& options) {
  return Automaton(seed, options).run();
}

Kinds kinds_of(const Trace& trace) {
  KindBook book;
  EXPECT_TRUE(book.observe(trace, [](std::uint64_t) { return true; }));
  return book.kinds();
}

Trace trace_of(const std::vector<Step>& steps) {
  TraceBuilder builder;
  std::map<std::uint32_t, std::uint32_t> in_trace;
  builder.mark();
  for (const Step& step : steps) {
    switch (step.what) {
      case Step::What::kAllocate:
        in_trace[step.buffer] = builder.alloc(step.bytes);
        break;
      case Step::What::kFree:
        builder.free(in_trace.at(step.buffer));
        break;
      case Step::What::kMark:
        builder.mark();
        break;
      case Step::What::kException:
        break;
    }
  }
  return builder.take_unsteady();
}

JointOptions patient(std::uint64_t work_limit) {
  JointOptions options;
  options.time_limit_s = 60;
  options.work_limit = work_limit;
  options.good_enough = 0.001;
  return options;
}

}  // namespace stowage::planner
