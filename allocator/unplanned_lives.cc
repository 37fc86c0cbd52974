#include "allocator/unplanned_lives.h"

#include <algorithm>
#include <bit>

namespace stowage::allocator {

std::size_t UnplannedLives::class_of(Bytes bytes) noexcept {
  const std::uint64_t value = bytes.value() | 4;
  const auto octave = static_cast<std::size_t>(std::bit_width(value) - 1);
  return 4 * octave + (value >> (octave - 2) & 3);
}

UnplannedLives::Counts UnplannedLives::crossing_at_most(const std::vector<Plan>& plans) {
  Counts most{};
  for (const Plan& plan : plans) {
    Counts of_plan{};
    for (const PlanEntry& entry : plan.entries) of_plan[class_of(entry.rounded)] += entry.crosses ? 1 : 0;
    for (std::size_t i = 0; i < kClasses; ++i) most[i] = std::max(most[i], of_plan[i]);
  }
  return most;
}

void UnplannedLives::learn(const std::vector<RequestLife>& lives, const std::vector<Plan>& plans) {
  if (std::none_of(fates_.begin(), fates_.end(), [](const Fate& fate) { return fate.asked; })) return;
  Counts lasting{};
  for (const RequestLife& life : lives) lasting[class_of(life.rounded)] += life.lasted ? 1 : 0;
  const Counts planned = crossing_at_most(plans);
  for (std::size_t i = 0; i < kClasses; ++i) {
    Fate& fate = fates_[i];
    if (!fate.asked) continue;
    fate.asked = false;
    const bool lasts = lasting[i] > planned[i] || fate.was == Was::kLasting;
    fate.was = lasts ? Was::kLasting : Was::kShort;
  }
}

}  // namespace stowage::allocator
