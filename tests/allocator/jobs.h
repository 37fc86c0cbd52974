// Made-up jobs for the allocator's tests and benchmarks: an iteration as a list of allocations and frees, and
// a simple placement of it. Plans made here are valid by construction: entries that live at once never
// overlap.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/plan.h"

namespace stowage::allocator::testing {

/// One step of an iteration: allocates the next buffer, or frees buffer number `buffer`.
struct Step {
  static constexpr std::uint32_t kAllocate = ~std::uint32_t{0};
  std::uint32_t buffer = kAllocate;
};

/// An iteration. Buffers are numbered in order of allocation; every one is freed within the iteration.
struct Job {
  std::vector<std::uint64_t> bytes;    ///< of each buffer, multiples of 512
  std::vector<std::uint32_t> streams;  ///< of each buffer
  std::vector<Step> steps;

  std::uint32_t allocate(std::uint64_t size, std::uint32_t stream = 0) {
    bytes.push_back(size);
    streams.push_back(stream);
    steps.push_back({});
    return static_cast<std::uint32_t>(bytes.size() - 1);
  }
  void free(std::uint32_t buffer) { steps.push_back({buffer}); }
};

/// The iteration of a transformer: per layer eight saved activations and two passing ones; backward in
/// reverse order; all layers alike, which is what makes finding one's place hard.
Job gpt_like(std::uint32_t layers, std::uint64_t unit = 64 * 512);

/// `buffers` buffers of random sizes (few different ones, so that places are ambiguous), streams and
/// lifetimes.
Job random_job(std::mt19937& random, std::uint32_t buffers);

/// The plan of a job: each buffer at the lowest offset where it overlaps none that lives at the same time,
/// then `base` higher; each stream has its own addresses.
Plan place(const Job& job, std::uint64_t base = 0);

}  // namespace stowage::allocator::testing
