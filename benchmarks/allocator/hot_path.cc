// Nanoseconds of one allocate+free pair, on the allocations of a transformer's iteration in their order and
// lifetimes: the planned allocator, beside glibc's malloc and beside a mutex with a hash map (what PyTorch's
// pluggable allocator adds to each call before any memory is found).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

#include "allocator/arena/fault_backend.h"
#include "allocator/planned_allocator.h"
#include "tests/allocator/jobs.h"

namespace stowage::allocator {
namespace {

using testing::Job;
using testing::Step;

constexpr std::uint32_t kLayers = 24;

// Runs whole iterations; reports the time of one pair.
template <class Allocate, class Free, class Mark>
void run(benchmark::State& state, const Job& job, Allocate allocate, Free release, Mark mark) {
  std::vector<void*> addresses(job.bytes.size());
  for (auto _ : state) {
    std::size_t next = 0;
    for (const Step step : job.steps) {
      if (step.buffer == Step::kAllocate) {
        addresses[next] = allocate(job.bytes[next]);
        ++next;
      } else {
        release(addresses[step.buffer]);
      }
    }
    mark();
  }
  const double pairs = static_cast<double>(state.iterations()) * static_cast<double>(job.bytes.size());
  state.counters["per_pair"] =
      benchmark::Counter(pairs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

PlannedAllocator make(std::vector<Plan> plans) {
  std::uint64_t height = 0;
  for (const Plan& plan : plans) height = std::max(height, plan.height.value());
  return PlannedAllocator(make_arena(FakeAddressBackend(), Bytes(height), Bytes(height)).value(),
                          std::move(plans));
}

void planned(benchmark::State& state) {
  const Job job = testing::gpt_like(kLayers);
  PlannedAllocator allocator = make({testing::place(job)});
  run(
      state, job, [&](std::uint64_t bytes) { return allocator.allocate(Bytes(bytes), StreamId(0)); },
      [&](void* address) { allocator.free(address); }, [&] { allocator.on_mark(); });
  state.counters["misses"] = static_cast<double>(allocator.counts().misses[0] + allocator.counts().misses[1]);
}
BENCHMARK(planned);

// Twelve plans cut the arena into many more segments.
void planned_among_twelve(benchmark::State& state) {
  std::vector<Plan> plans;
  for (std::uint64_t i = 0; i < 12; ++i)
    plans.push_back(testing::place(testing::gpt_like(kLayers, (64 + i) * 512)));
  const Job job = testing::gpt_like(kLayers);
  PlannedAllocator allocator = make(std::move(plans));
  run(
      state, job, [&](std::uint64_t bytes) { return allocator.allocate(Bytes(bytes), StreamId(0)); },
      [&](void* address) { allocator.free(address); }, [&] { allocator.on_mark(); });
}
BENCHMARK(planned_among_twelve);

// What a job whose every iteration differs pays on top of upstream: sizes that no plan has, and planned sizes
// in an order that no plan has (some of which are served).
void missed(benchmark::State& state) {
  const Job job = testing::gpt_like(kLayers);
  PlannedAllocator allocator = make({testing::place(job)});
  run(
      state, job,
      [&](std::uint64_t bytes) {
        return allocator.allocate(Bytes(bytes + (std::uint64_t{1} << 40)), StreamId(0));
      },
      [](void*) {}, [&] { allocator.on_mark(); });
}
BENCHMARK(missed);

void shuffled(benchmark::State& state) {
  const Job job = testing::gpt_like(kLayers);
  Job other = job;
  std::shuffle(other.bytes.begin(), other.bytes.end(), std::mt19937(1));
  PlannedAllocator allocator = make({testing::place(job)});
  run(
      state, other, [&](std::uint64_t bytes) { return allocator.allocate(Bytes(bytes), StreamId(0)); },
      [&](void* address) {
        if (address != nullptr) allocator.free(address);
      },
      [&] { allocator.on_mark(); });
}
BENCHMARK(shuffled);

// Two threads at one allocator: the same slot taken and given back, the other thread in the way.
void planned_contended(benchmark::State& state) {
  static PlannedAllocator* allocator = nullptr;
  if (state.thread_index() == 0) {
    Plan plan;
    for (std::uint64_t i = 0; i < 4096; ++i)
      plan.entries.push_back({kGranule, StreamId(0), Offset(i * 512), kUpstream});
    plan.height = Bytes(4096 * 512);
    allocator =
        new PlannedAllocator(make_arena(FakeAddressBackend(), plan.height, plan.height).value(), {plan});
  }
  std::uint64_t pairs = 0;
  for (auto _ : state) {
    void* const address = allocator->allocate(kGranule, StreamId(0));
    if (address != nullptr) allocator->free(address);
    if (++pairs % 2048 == 0) allocator->on_mark();
  }
  if (state.thread_index() == 0) {
    delete allocator;
    allocator = nullptr;
  }
}
BENCHMARK(planned_contended)->ThreadRange(1, 4)->UseRealTime();

void glibc_malloc(benchmark::State& state) {
  const Job job = testing::gpt_like(kLayers, 512);  // small sizes: malloc at its best, no mmap
  run(
      state, job, [](std::uint64_t bytes) { return std::malloc(bytes); },
      [](void* address) { std::free(address); }, [] {});
}
BENCHMARK(glibc_malloc);

void mutex_and_map(benchmark::State& state) {
  const Job job = testing::gpt_like(kLayers);
  std::mutex mutex;
  std::unordered_map<void*, std::uint64_t> sizes;
  std::uintptr_t next = 0;
  run(
      state, job,
      [&](std::uint64_t bytes) {
        const std::lock_guard guard(mutex);
        void* const address = reinterpret_cast<void*>(next += bytes);
        sizes.emplace(address, bytes);
        return address;
      },
      [&](void* address) {
        const std::lock_guard guard(mutex);
        sizes.erase(address);
      },
      [] {});
}
BENCHMARK(mutex_and_map);

}  // namespace
}  // namespace stowage::allocator
