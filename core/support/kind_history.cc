#include "core/support/kind_history.h"

#include <algorithm>

namespace stowage {

std::uint32_t KindHistory::next_after(std::uint32_t kind) {
  const bool came_true = foretold_ != 0 && kinds_[foretold_] == kind;
  const std::size_t place = foretold_;
  const std::uint32_t before = kinds_.empty() ? kind : kinds_.back();
  const std::size_t size = kinds_.size();
  append(kind);
  const bool moved = kinds_.size() <= size;  // what lies longest ago was dropped
  foretold_ = came_true && !moved ? place + 1 : likeliest_next();
  return foretold_ != 0 ? kinds_[foretold_] : before;
}

void KindHistory::append(std::uint32_t kind) {
  foretold_ = 0;
  kinds_.push_back(kind);
  if (kinds_.size() > kMost) kinds_.erase(kinds_.begin(), kinds_.begin() + kMost / 2);
}

std::uint32_t KindHistory::followed_last(std::uint32_t kind) const {
  if (foretold_ != 0 && foretold_ + 1 < kinds_.size() && kinds_[foretold_] == kind)
    return kinds_[foretold_ + 1];
  for (std::size_t next = kinds_.size(); next-- > 1;) {
    if (kinds_[next - 1] == kind) return kinds_[next];
  }
  return kind;
}

// A place in kinds_: the earliest of those that are equally good, so that it can move along for longest. 0:
// the latest iteration is the first of its kind.
std::size_t KindHistory::likeliest_next() const {
  const std::size_t size = kinds_.size();
  const std::size_t kinds = *std::max_element(kinds_.begin(), kinds_.end()) + std::size_t{1};
  std::vector<std::size_t> earliest(kinds, 0), times(kinds, 0);  // by what followed
  std::size_t longest = 0;
  for (std::size_t next = size - 1; next > 0; --next) {
    std::size_t run = 0;
    while (run < next && kinds_[next - 1 - run] == kinds_[size - 1 - run]) ++run;
    if (run < longest || run == 0) continue;
    if (run > longest) std::fill(times.begin(), times.end(), 0);
    longest = run;
    ++times[kinds_[next]];
    earliest[kinds_[next]] = next;
  }
  const auto most = std::max_element(times.begin(), times.end());
  return longest == 0 ? 0 : earliest[static_cast<std::size_t>(most - times.begin())];
}

}  // namespace stowage
