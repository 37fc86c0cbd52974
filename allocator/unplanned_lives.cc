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
  now_.runs.reserve(kMostRuns);
  last_.runs.reserve(kMostRuns);
}

void UnplannedLives::on_mark(std::uint64_t requests) noexcept {
  now_.requests = requests;
  std::swap(now_, last_);
  now_.runs.clear();
  now_.has.fill(false);
}

UnplannedLives::Life UnplannedLives::of(Bytes bytes, std::uint64_t ordinal) noexcept {
  const std::size_t its_class = class_of(bytes);
  now_.has[its_class] = true;
  if (!now_.runs.empty() && now_.runs.back().end == ordinal) {
    ++now_.runs.back().end;
  } else if (now_.runs.size() < kMostRuns) {
    now_.runs.push_back({ordinal, ordinal + 1});
  }
  return lives_[its_class] == Life::kUnknown ? like(its_class) : lives_[its_class];
}

UnplannedLives::Life UnplannedLives::like(std::size_t unknown) const noexcept {
  constexpr std::size_t kOctave = 4;
  Life longest = Life::kUnknown;
  for (std::size_t i = unknown - std::min(unknown, kOctave); i <= unknown + kOctave && i < kClasses; ++i)
    longest = std::max(longest, lives_[i]);
  return longest == Life::kBrief ? longest : Life::kUnknown;
}

UnplannedLives::Flags UnplannedLives::outlived_runs(const std::vector<RequestLife>& lives) const {
  Flags outlived{};
  if (lives.size() != last_.requests || last_.runs.size() == kMostRuns) outlived.fill(true);
  for (const Run& run : last_.runs) {
    for (std::uint64_t i = run.begin; i < std::min<std::uint64_t>(run.end, lives.size()); ++i) {
      const bool brief = !lives[i].lasted && i + lives[i].meanwhile < run.end;
      outlived[class_of(lives[i].rounded)] |= !brief;
    }
  }
  return outlived;
}

void UnplannedLives::learn(const std::vector<RequestLife>& lives, const std::vector<Plan>& plans) {
  if (last_.runs.empty()) return;
  const Flags outlived = outlived_runs(lives);
  Counts lasting{};
  for (const RequestLife& life : lives) lasting[class_of(life.rounded)] += life.lasted ? 1 : 0;
  const Counts planned = crossing_at_most(plans);
  for (std::size_t i = 0; i < kClasses; ++i) {
    if (!last_.has[i]) continue;
    const Life seen = lasting[i] > planned[i] ? Life::kLasting : outlived[i] ? Life::kShort : Life::kBrief;
    lives_[i] = std::max(lives_[i], seen);
  }
}

}  // namespace stowage::allocator
