#include "tests/planner/placement/exhaustive.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

class Orders {
 public:
  explicit Orders(const Problem& problem) : problem_(problem), offset_(problem.items.size()) {
    const std::size_t n = problem.items.size();
    meets_.assign(n, std::vector<char>(n, 0));
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) meets_[a][b] = static_cast<char>(meet_by_definition(problem, a, b));
    }
  }

  std::uint64_t run() {
    std::uint64_t height = 0;
    for (std::size_t i = 0; i < problem_.items.size(); ++i) {
      const Item& item = problem_.items[i];
      // The placers leave what occupies nothing at 0, and so does this.
      if (item.fixed || item.size == Bytes(0) || item.birth == item.death) {
        put(i, item.fixed ? item.fixed->value() : 0);
        height = std::max(height, top_of(i));
      } else {
        waiting_.push_back(i);
      }
    }
    descend(height);
    return best_;
  }

 private:
  [[nodiscard]] std::uint64_t top_of(std::size_t i) const {
    return offset_[i] + problem_.items[i].size.value();
  }
  void put(std::size_t i, std::uint64_t offset) {
    offset_[i] = offset;
    placed_.push_back(i);
  }

  [[nodiscard]] std::uint64_t lowest(std::size_t i) const {
    const std::uint64_t alignment = problem_.items[i].alignment.value(),
                        size = problem_.items[i].size.value();
    std::uint64_t low = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t j : placed_) {
        if (meets_[i][j] == 0 || top_of(j) <= low || offset_[j] >= low + size) continue;
        low = (top_of(j) + alignment - 1) / alignment * alignment;
        moved = true;
      }
    }
    return low;
  }

  void descend(std::uint64_t height) {
    if (height >= best_) return;
    if (waiting_.empty()) {
      best_ = height;
      return;
    }
    for (std::size_t k = 0; k < waiting_.size(); ++k) {
      const std::size_t i = waiting_[k];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(k));
      put(i, lowest(i));
      descend(std::max(height, top_of(i)));
      placed_.pop_back();
      waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(k), i);
    }
  }

  const Problem& problem_;
  std::vector<std::vector<char>> meets_;
  std::vector<std::uint64_t> offset_;
  std::vector<std::size_t> placed_, waiting_;
  std::uint64_t best_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

bool meet_by_definition(const Problem& problem, std::size_t a, std::size_t b) {
  for (std::uint64_t t = 0; t < (problem.period != 0 ? problem.period : 64); ++t) {
    const auto x = used_at(problem, a, t), y = used_at(problem, b, t);
    if (x.first < x.second && y.first < y.second) return true;
  }
  return false;
}

std::uint64_t exhaustive_height(const Problem& problem) { return Orders(problem).run(); }

}  // namespace stowage::planner::placement
