// Runs jobs against a PlannedAllocator as a training job would, checks after every step that live slots are
// disjoint and inside the arena, and keeps the calls as a C++ program that repeats a failure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/planned_allocator.h"
#include "tests/allocator/jobs.h"

namespace stowage::allocator::testing {

/// A departure of one iteration from its job, just before buffer number `at` is allocated.
struct Edit {
  enum Kind : std::uint8_t {
    kInsert,  ///< one allocation more, of `bytes`, freed at the iteration's end
    kSkip,    ///< buffer `at` is not allocated
    kResize,  ///< buffer `at` has `bytes`
    kKeep,    ///< buffer `at` is not freed in this iteration but at the end of the next
    kStop,    ///< an exception: the iteration ends here, everything is freed, and there is no mark
  };
  Kind kind = kInsert;
  std::uint32_t at = 0;
  std::uint64_t bytes = 0;
};

/// An allocator on fake addresses that holds `plans` and as much room again.
PlannedAllocator make_allocator(std::vector<Plan> plans);

class JobRunner {
 public:
  explicit JobRunner(PlannedAllocator& allocator) : allocator_(allocator) {}

  /// Which requests of an iteration, in order of the job's buffers (inserted ones left out), were served from
  /// the arena or found their own slot in use: where the allocator knew what they stood for.
  using Followed = std::vector<bool>;

  /// Runs one iteration and its mark.
  Followed run(const Job& job, const std::vector<Edit>& edits = {}) { return run(job, edits, true); }
  /// Runs one iteration without a mark at its end.
  Followed run_unmarked(const Job& job, const std::vector<Edit>& edits = {}) {
    return run(job, edits, false);
  }

  void* allocate(std::uint64_t bytes, std::uint32_t stream = 0);
  void free(void* address);
  void mark();
  /// Frees whatever kKeep still holds back.
  void free_kept();
  /// All calls so far, as the body of a C++ function.
  [[nodiscard]] const std::string& program() const { return program_; }
  /// The first broken promise in words; empty: none.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  Followed run(const Job& job, const std::vector<Edit>& edits, bool marked);
  void check_disjoint(const char* begin, std::uint64_t bytes);

  PlannedAllocator& allocator_;
  std::map<const char*, std::uint64_t> live_;  ///< address → bytes, by brute force
  std::map<const void*, int> names_;
  std::vector<void*> kept_;
  std::uint64_t live_bytes_ = 0;
  int next_name_ = 0;
  std::string program_;
  std::string complaint_;
};

/// Misses of all kinds so far.
std::uint64_t misses(const PlannedAllocator& allocator);

}  // namespace stowage::allocator::testing
