#include "planner/schedule/proofs/overhead_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace stowage::planner::schedule {
namespace {

constexpr int kSteps = 400;
constexpr int kPatience = 12;           // steps without a better bound, then they become smaller
constexpr double kRounding = 1 - 1e-9;  // of sums in floating point
// Where copies take a thousand times as long as what they replace, a thousandth of them is as good.
constexpr std::array<double, 8> kWeightsOfReplays{1, 0.9999, 0.999, 0.99, 0.9, 0.75, 0.5, 0};

/// What the times of recomputations and copies count.
struct Counts {
  double replays = 1;
  double there = 1;
  double back = 1;
};

/// Those ops alone that need more than the budget, and the gaps around any of them.
class Covering {
 public:
  Covering(const GapTable& table, std::uint64_t budget, const Counts& counts) {
    row_.resize(table.needed.size() + 1);
    for (std::size_t op = 0; op < table.needed.size(); ++op) {
      row_[op] = static_cast<std::uint32_t>(excess_.size());
      if (table.needed[op] > budget) excess_.push_back(static_cast<double>(table.needed[op] - budget));
    }
    row_.back() = static_cast<std::uint32_t>(excess_.size());
    for (const Gap& gap : table.gaps) {
      if (row_[gap.first] < row_[gap.end] || row_[gap.next_end] > 0)
        columns_.push_back({row_[gap.first], row_[gap.end], row_[gap.next_end],
                            static_cast<double>(gap.bytes), cost_of(gap, counts)});
    }
  }

  [[nodiscard]] std::size_t rows() const { return excess_.size(); }

  /// By op.
  [[nodiscard]] std::vector<double> by_op(const std::vector<double>& by_row) const {
    std::vector<double> all(row_.size() - 1, 0);
    for (std::size_t op = 0; op + 1 < row_.size(); ++op) {
      if (row_[op] < row_[op + 1]) all[op] = by_row[row_[op]];
    }
    return all;
  }

  /// The value of the dual for these prices of a byte, and by how much each row is short of what is out.
  double value_at(const std::vector<double>& prices, std::vector<double>& shortage) const {
    std::vector<double> before(rows() + 1, 0);
    for (std::size_t row = 0; row < rows(); ++row) before[row + 1] = before[row] + prices[row];
    std::vector<double> change(rows() + 1, 0);
    double value = 0;
    for (const Column& column : columns_) {
      const double prices_around = before[column.end] - before[column.first] + before[column.next_end];
      const double gain = column.bytes * prices_around - column.cost_ns;
      if (gain <= 0) continue;
      value -= gain;
      change[0] += column.next_end > 0 ? column.bytes : 0;
      change[column.next_end] -= column.next_end > 0 ? column.bytes : 0;
      change[column.first] += column.bytes;
      change[column.end] -= column.bytes;
    }
    double out = 0;
    for (std::size_t row = 0; row < rows(); ++row) {
      out += change[row];
      shortage[row] = excess_[row] - out;
      value += prices[row] * excess_[row];
    }
    return value;
  }

  /// The row whose excess takes most by itself, at the least price at which enough goes out.
  [[nodiscard]] std::vector<double> first_prices() const {
    const auto tightest = std::max_element(excess_.begin(), excess_.end()) - excess_.begin();
    std::vector<double> prices(rows(), 0);
    prices[static_cast<std::size_t>(tightest)] = price_alone(static_cast<std::uint32_t>(tightest));
    return prices;
  }

 private:
  struct Column {
    std::uint32_t first;
    std::uint32_t end;
    std::uint32_t next_end;
    double bytes;
    double cost_ns;
  };

  static double cost_of(const Gap& gap, const Counts& counts) {
    const double replay = gap.replay_ns == kNoWay ? kNoWay : counts.replays * gap.replay_ns;
    if (gap.back_ns == kNoWay) return replay;
    return std::min(replay, counts.there * gap.there_ns + counts.back * gap.back_ns);
  }

  [[nodiscard]] double price_alone(std::uint32_t row) const {
    std::vector<const Column*> around;
    for (const Column& column : columns_) {
      if ((column.first <= row && row < column.end) || row < column.next_end) around.push_back(&column);
    }
    std::sort(around.begin(), around.end(),
              [](const Column* a, const Column* b) { return a->cost_ns * b->bytes < b->cost_ns * a->bytes; });
    double left = excess_[row], price = 0;
    for (const Column* column : around) {
      price = column->cost_ns / column->bytes;
      if ((left -= column->bytes) <= 0) break;
    }
    return price;
  }

  std::vector<std::uint32_t> row_;  ///< by op: its own or the next one
  std::vector<double> excess_;      ///< by row: bytes, above 0
  std::vector<Column> columns_;
};

struct Dual {
  double value = 0;
  std::vector<double> prices;  ///< by row
};

// Polyak's steps towards what was reached.
Dual dual_of(const Covering& covering, double target) {
  std::vector<double> prices = covering.first_prices(), best_prices = prices, shortage(covering.rows());
  double best = 0, step = 1;
  int since_best = 0;
  for (int i = 0; i < kSteps && best < target; ++i) {
    double value = covering.value_at(prices, shortage);
    if (value > best) {
      best = value;
      best_prices = prices;
      since_best = 0;
    } else if (++since_best == kPatience) {
      prices = best_prices;
      value = covering.value_at(prices, shortage);
      step /= 2;
      since_best = 0;
    }
    double length = 0;
    for (std::size_t row = 0; row < prices.size(); ++row) {
      if (prices[row] > 0 || shortage[row] > 0) length += shortage[row] * shortage[row];
    }
    if (length == 0) break;
    const double by = step * (target - std::min(value, target)) / length;
    for (std::size_t row = 0; row < prices.size(); ++row)
      prices[row] = std::max(0.0, prices[row] + by * shortage[row]);
  }
  return {best * kRounding, std::move(best_prices)};
}

}  // namespace

std::uint64_t least_peak(const GapTable& table) {
  std::vector<std::uint64_t> more(table.needed.size() + 1), less(table.needed.size() + 1);
  for (const Gap& gap : table.gaps) {
    more[gap.first] += gap.bytes;
    less[gap.end] += gap.bytes;
    if (gap.next_end == 0) continue;
    more[0] += gap.bytes;
    less[gap.next_end] += gap.bytes;
  }
  std::uint64_t out = 0, least = 0;
  for (std::size_t op = 0; op < table.needed.size(); ++op) {
    out += more[op] - less[op];
    least = std::max(least, table.needed[op] - std::min(table.needed[op], out));
  }
  return least;
}

OverheadBound overhead_bound(const GapTable& table, std::uint64_t budget, std::uint64_t reached) {
  OverheadBound best;
  const auto try_counts = [&](const Counts& counts, double hidden_ns) {
    const Covering covering(table, budget, counts);
    if (covering.rows() == 0 || reached == 0) return;
    const Dual dual = dual_of(covering, static_cast<double>(reached) + hidden_ns);
    const double value = dual.value - hidden_ns;
    if (value <= static_cast<double>(best.added_ns)) return;
    best = {static_cast<std::uint64_t>(value), covering.by_op(dual.prices)};
  };
  if (!run_beside_ops(table.copy_lanes)) {
    try_counts({}, 0);
    return best;
  }
  for (const double replays : kWeightsOfReplays) {
    const double copies = 1 - replays, hidden = copies * static_cast<double>(table.ops_ns);
    if (table.copy_lanes == CopyLanes::kShared) {
      try_counts({replays, copies, copies}, hidden);
    } else {
      try_counts({replays, 0, copies}, hidden);
      try_counts({replays, copies / 2, copies / 2}, hidden);
    }
  }
  return best;
}

}  // namespace stowage::planner::schedule
