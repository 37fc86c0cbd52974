#include "planner/schedule/proofs/overhead_bound.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stowage::planner::schedule {
namespace {

constexpr int kSteps = 400;
constexpr int kPatience = 12;           // steps without a better bound, then they become smaller
constexpr double kRounding = 1 - 1e-9;  // of sums in floating point
// Where copies take a thousand times as long as what they replace, a thousandth of them is as good.
constexpr std::array<double, 8> kWeightsOfReplays{1, 0.9999, 0.999, 0.99, 0.9, 0.75, 0.5, 0};

/// Those ops alone that need more than the budget, and the gaps around any of them.
class Covering {
 public:
  /// `replays`, `copies`: what their times count.
  Covering(const GapTable& table, std::uint64_t budget, double replays, double copies) {
    std::vector<std::uint32_t> row(table.needed.size() + 1);
    for (std::size_t op = 0; op < table.needed.size(); ++op) {
      row[op] = static_cast<std::uint32_t>(excess_.size());
      if (table.needed[op] > budget) excess_.push_back(static_cast<double>(table.needed[op] - budget));
    }
    row.back() = static_cast<std::uint32_t>(excess_.size());
    for (const Gap& gap : table.gaps) {
      if (row[gap.first] < row[gap.end] || row[gap.next_end] > 0)
        columns_.push_back({row[gap.first], row[gap.end], row[gap.next_end], static_cast<double>(gap.bytes),
                            std::min(weighted(gap.replay_ns, replays), weighted(gap.copy_ns, copies))});
    }
  }

  [[nodiscard]] std::size_t rows() const { return excess_.size(); }

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

  static double weighted(double cost_ns, double weight) {
    return cost_ns == kNoWay ? kNoWay : weight * cost_ns;
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

  std::vector<double> excess_;  ///< by row: bytes, above 0
  std::vector<Column> columns_;
};

// Polyak's steps towards what was reached.
double dual_of(const Covering& covering, double target) {
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
  return best * kRounding;
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

std::uint64_t least_added_ns(const GapTable& table, std::uint64_t budget, std::uint64_t reached) {
  const auto target = static_cast<double>(reached);
  const auto dual = [&](double replays, double copies, double more) {
    const Covering covering(table, budget, replays, copies);
    return covering.rows() == 0 || reached == 0 ? 0 : dual_of(covering, target + more) - more;
  };
  if (!table.copies_overlap) return static_cast<std::uint64_t>(dual(1, 1, 0));
  double best = 0;
  for (const double weight : kWeightsOfReplays)
    best = std::max(best, dual(weight, 1 - weight, (1 - weight) * static_cast<double>(table.ops_ns)));
  return static_cast<std::uint64_t>(best);
}

}  // namespace stowage::planner::schedule
