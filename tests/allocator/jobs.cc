#include "tests/allocator/jobs.h"

#include <algorithm>
#include <utility>

namespace stowage::allocator::testing {
namespace {

constexpr std::uint64_t kStreamSpan = std::uint64_t{64} << 20;  // more than the buffers of any job here

struct Lifetime {
  std::size_t birth = 0;
  std::size_t death = 0;
};

std::vector<Lifetime> lifetimes(const Job& job) {
  std::vector<Lifetime> lives;
  for (std::size_t tick = 0; tick < job.steps.size(); ++tick) {
    if (job.steps[tick].buffer == Step::kAllocate) {
      lives.push_back({tick, job.steps.size()});
    } else {
      lives[job.steps[tick].buffer].death = tick;
    }
  }
  return lives;
}

}  // namespace

Job gpt_like(std::uint32_t layers, std::uint64_t unit) {
  Job job;
  std::vector<std::uint32_t> saved;
  job.allocate(7 * unit);  // the batch
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (const std::uint64_t units : {1, 3, 1, 2, 1, 4, 4, 1}) {
      const std::uint32_t passing = job.allocate(units * unit + 512);
      saved.push_back(job.allocate(units * unit));
      job.free(passing);
    }
  }
  std::uint32_t gradient = job.allocate(9 * unit);
  while (!saved.empty()) {
    const std::uint32_t next = job.allocate(job.bytes[saved.back()]);
    job.free(gradient);
    job.free(saved.back());
    saved.pop_back();
    gradient = next;
  }
  job.free(gradient);
  job.free(0);
  return job;
}

Job random_job(std::mt19937& random, std::uint32_t buffers) {
  const auto below = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  Job job;
  std::vector<std::uint32_t> live;
  const std::uint32_t sizes = 2 + below(12);
  while (job.bytes.size() < buffers || !live.empty()) {
    const bool full = job.bytes.size() == buffers;
    if (!full && (live.empty() || below(100) < 55)) {
      live.push_back(job.allocate(512 * (1 + below(sizes) * (1 + below(3)) * 7), below(8) == 0 ? 1 : 0));
      continue;
    }
    std::swap(live[below(static_cast<std::uint32_t>(live.size()))], live.back());
    job.free(live.back());
    live.pop_back();
  }
  return job;
}

Plan place(const Job& job, std::uint64_t base) {
  const std::vector<Lifetime> lives = lifetimes(job);
  Plan plan;
  plan.technique = "first fit";
  for (std::size_t i = 0; i < lives.size(); ++i) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (std::size_t j = 0; j < i; ++j) {
      if (lives[j].death <= lives[i].birth || job.streams[j] != job.streams[i]) continue;
      taken.push_back({plan.entries[j].offset.value(), plan.entries[j].offset.value() + job.bytes[j]});
    }
    std::sort(taken.begin(), taken.end());
    std::uint64_t offset = base + job.streams[i] * kStreamSpan;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + job.bytes[i]) break;
      offset = std::max(offset, end);
    }
    plan.entries.push_back({Bytes(job.bytes[i]), StreamId(job.streams[i]), Offset(offset), kUpstream});
    plan.height = std::max(plan.height, Bytes(offset + job.bytes[i]));
  }
  return plan;
}

}  // namespace stowage::allocator::testing
