#include "recompute/threads/training_threads.h"

#include <algorithm>

namespace stowage::recompute {
namespace {

// A thread that ends no iteration while others end so many does not train (any more).
constexpr std::uint32_t kPatience = 16;

}  // namespace

void TrainingThreads::join(std::thread::id thread, std::uint64_t now) {
  seats_.try_emplace(thread, Seat{now});
}

std::uint64_t TrainingThreads::end_iteration(std::thread::id thread, std::uint64_t now) {
  std::uint64_t earliest = now;
  for (auto& [other, seat] : seats_) {
    if (other == thread) continue;
    ++seat.others;
    if (seat.others <= kPatience) earliest = std::min(earliest, seat.began);
  }
  std::erase_if(seats_, [](const auto& entry) { return entry.second.others > kPatience; });
  seats_[thread] = Seat{now};
  return earliest;
}

TrainingThreads& training_threads() {
  static auto* const instance = new TrainingThreads;
  return *instance;
}

}  // namespace stowage::recompute
