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

UnplannedLives::UnplannedLives() {
  runs_.reserve(kMostRuns);
  ended_.reserve(kMostRuns);
}

void UnplannedLives::on_mark(std::uint64_t requests) noexcept {
  requests_ = requests;
  std::swap(runs_, ended_);
  runs_.clear();
}

UnplannedLives::Life UnplannedLives::of(Bytes bytes, std::uint64_t ordinal) noexcept {
  Fate& fate = fates_[class_of(bytes)];
  fate.asked = true;
  if (!runs_.empty() && runs_.back().end == ordinal) {
    ++runs_.back().end;
  } else if (runs_.size() < kMostRuns) {
    runs_.push_back({ordinal, ordinal + 1});
  }
  return fate.life == Life::kUnknown ? like(class_of(bytes)) : fate.life;
}

UnplannedLives::Life UnplannedLives::like(std::size_t unknown) const noexcept {
  constexpr std::size_t kOctave = 4;
  Life longest = Life::kUnknown;
  for (std::size_t i = unknown - std::min(unknown, kOctave); i <= unknown + kOctave && i < kClasses; ++i)
    longest = std::max(longest, fates_[i].life);
  return longest == Life::kBrief ? longest : Life::kUnknown;
}

UnplannedLives::Flags UnplannedLives::outlived_runs(const std::vector<RequestLife>& lives) const {
  Flags outlived{};
  if (lives.size() != requests_ || ended_.size() == kMostRuns) outlived.fill(true);
  for (const Run& run : ended_) {
    for (std::uint64_t i = run.begin; i < std::min<std::uint64_t>(run.end, lives.size()); ++i) {
      const bool brief = !lives[i].lasted && i + lives[i].meanwhile < run.end;
      outlived[class_of(lives[i].rounded)] |= !brief;
    }
  }
  return outlived;
}

void UnplannedLives::learn(const std::vector<RequestLife>& lives, const std::vector<Plan>& plans) {
  if (std::none_of(fates_.begin(), fates_.end(), [](const Fate& fate) { return fate.asked; })) return;
  const Flags outlived = outlived_runs(lives);
  Counts lasting{};
  for (const RequestLife& life : lives) lasting[class_of(life.rounded)] += life.lasted ? 1 : 0;
  const Counts planned = crossing_at_most(plans);
  for (std::size_t i = 0; i < kClasses; ++i) {
    Fate& fate = fates_[i];
    if (!fate.asked) continue;
    fate.asked = false;
    const Life seen = lasting[i] > planned[i] ? Life::kLasting : outlived[i] ? Life::kShort : Life::kBrief;
    fate.life = std::max(fate.life, seen);
  }
}

}  // namespace stowage::allocator
