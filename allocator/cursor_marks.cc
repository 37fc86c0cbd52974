// Where a job's marks leave the cursor: inside an iteration, or at the beginning of the plan that is likely
// to come next.
#include <algorithm>
#include <utility>

#include "allocator/cursor.h"

namespace stowage::allocator {
namespace {

constexpr std::uint32_t kMarkSlack = 16;  // entries that a mark may be off (or an eighth of the plan)

}  // namespace

// The inner mark that a mark now stands for: its index; nullopt: the iteration's end. The nearest to the
// cursor if one is near; in an iteration that lost its plan, the next by count.
std::optional<std::uint32_t> Cursor::inner_mark() const {
  if (at_.plan >= plans_.size()) return std::nullopt;
  const std::vector<std::uint32_t>& marks = plans_[at_.plan].inner_marks;
  const std::uint32_t size = length(at_.plan);
  const std::uint32_t slack = std::max(kMarkSlack, size / 8);
  std::uint32_t nearest = slack + 1;
  std::uint32_t index = 0;
  for (std::uint32_t i = marks_seen_; i < marks.size(); ++i) {
    if (distance(marks[i], at_.entry) >= nearest) continue;
    nearest = distance(marks[i], at_.entry);
    index = i;
  }
  const std::uint32_t from_end = size - at_.entry;
  if (nearest <= slack && nearest <= from_end) return index;
  if (from_end <= slack || marks_seen_ >= marks.size()) return std::nullopt;
  return marks_seen_;
}

bool Cursor::mark() {
  left_.reset();
  unmatched_ = 0;
  if (const std::optional<std::uint32_t> index = inner_mark()) {
    const std::uint32_t entry = plans_[at_.plan].inner_marks[*index];
    clean_ = clean_ && entry == at_.entry;
    at_.entry = requests_ = entry;
    marks_seen_ = *index + 1;
    return false;
  }
  ++iteration_;
  if (at_.plan < plans_.size()) begin_iteration(plan_that_ended());
  return true;
}

// An iteration that matched its plan so far and ends before it may be all of a shorter plan that begins
// alike.
std::uint32_t Cursor::plan_that_ended() const {
  if (!clean_ || at_end()) return at_.plan;
  for (std::uint32_t plan = 0; plan < plans_.size(); ++plan) {
    if (plan == at_.plan || length(plan) != at_.entry) continue;
    if (common_beginning(plan, at_.plan) >= at_.entry) return plan;
  }
  return at_.plan;
}

void Cursor::begin_iteration(std::uint32_t ended) {
  plans_[ended].last_used = iteration_;
  at_ = {whose_turn(predict(first_twin(ended))), 0};
  marks_seen_ = requests_ = 0;
  turned_ = false;
  clean_ = true;
}

std::uint32_t Cursor::first_twin(std::uint32_t plan) const {
  return std::min(plan, plans_[plan].twin.value_or(plan));
}

std::uint32_t Cursor::whose_turn(std::uint32_t plan) const {
  const std::uint32_t twin = plans_[plan].twin.value_or(plan);
  return plans_[twin].last_used < plans_[plan].last_used ? twin : plan;
}

void Cursor::foresee(const std::vector<std::uint32_t>& history) {
  history_.clear();
  for (const std::uint32_t plan : history) {
    plans_[plan].last_used = ++iteration_;
    at_ = {whose_turn(predict(first_twin(plan))), 0};
  }
}

void Cursor::expect(std::vector<std::uint32_t> coming) {
  coming_ = std::move(coming);
  came_ = 0;
  for (std::uint32_t& plan : coming_) plan = first_twin(plan);
  if (!coming_.empty()) at_ = {coming_.front(), 0};
}

// True if what was told says what comes next, too.
bool Cursor::came_as_told(std::uint32_t ended) {
  if (came_ < coming_.size() && coming_[came_] == ended && ++came_ < coming_.size()) return true;
  coming_.clear();
  return false;
}

std::uint32_t Cursor::predict(std::uint32_t ended) {
  if (!came_as_told(ended)) return history_.next_after(ended);
  history_.append(ended);
  return coming_[came_];
}

// As predict() will tell at the iteration's end, or nearly so.
std::uint32_t Cursor::likely_next() const {
  const std::uint32_t present = first_twin(at_.plan);
  const bool told = came_ + 1 < coming_.size() && coming_[came_] == present;
  const std::uint32_t next = told ? coming_[came_ + 1] : history_.followed_last(present);
  return next == present ? twin_of(at_.plan) : whose_turn(next);
}

}  // namespace stowage::allocator
