#include "planner/schedule/blocks/option_program.h"

#include <lpsolve/lp_lib.h>

#include <memory>

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kMostSteps = 5'000;  // of lp_solve's search
constexpr double kBytesPerUnit = 1024;       // numbers near one are solved best
constexpr double kNsPerUnit = 1000;
constexpr double kHalf = 0.5;

int is_over(lprec* /*lp*/, void* steps) { return ++*static_cast<std::uint64_t*>(steps) > kMostSteps ? 1 : 0; }

/// Columns are the items that may be dropped, then the block's ops.
class Program {
 public:
  explicit Program(const Block& block) : block_(block) {
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      if (block.items[i].may_be_dropped()) items_.push_back(i);
    }
    lp_.reset(make_lp(0, static_cast<int>(items_.size() + block.ops.size())));
    if (lp_ != nullptr) set_verbose(lp_.get(), NEUTRAL);
  }

  std::optional<std::vector<bool>> run(std::uint64_t least, std::uint64_t most_ns) {
    if (lp_ == nullptr) return std::nullopt;
    fill(static_cast<double>(least) / kBytesPerUnit);
    set_obj_bound(lp_.get(), static_cast<double>(most_ns) / kNsPerUnit);
    std::uint64_t steps = 0;
    put_abortfunc(lp_.get(), is_over, &steps);
    const int outcome = solve(lp_.get());
    if (outcome != OPTIMAL && outcome != SUBOPTIMAL) return std::nullopt;
    return answer();
  }

 private:
  [[nodiscard]] static int item(std::size_t index) { return 1 + static_cast<int>(index); }
  [[nodiscard]] int op(std::size_t index) const { return item(items_.size() + index); }

  void row(std::vector<double> values, std::vector<int> columns, int kind, double right) {
    add_constraintex(lp_.get(), static_cast<int>(values.size()), values.data(), columns.data(), kind, right);
  }

  void fill(double least) {
    set_add_rowmode(lp_.get(), TRUE);
    std::vector<double> costs, bytes;
    std::vector<int> ops, items;
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
      costs.push_back(static_cast<double>(block_.ops[i].cost_ns) / kNsPerUnit);
      ops.push_back(op(i));
    }
    set_obj_fnex(lp_.get(), static_cast<int>(costs.size()), costs.data(), ops.data());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      bytes.push_back(static_cast<double>(block_.items[items_[i]].bytes) / kBytesPerUnit);
      items.push_back(item(i));
      for (const std::uint32_t one : block_.items[items_[i]].ops) row({1, -1}, {op(one), item(i)}, GE, 0);
    }
    row(bytes, items, GE, least);
    set_add_rowmode(lp_.get(), FALSE);
    for (std::size_t i = 0; i < items_.size(); ++i) set_binary(lp_.get(), item(i), TRUE);
  }

  [[nodiscard]] std::vector<bool> answer() const {
    std::vector<double> values(items_.size() + block_.ops.size());
    get_variables(lp_.get(), values.data());
    std::vector<bool> kept(block_.items.size(), true);
    for (std::size_t i = 0; i < items_.size(); ++i) kept[items_[i]] = values[i] < kHalf;
    return kept;
  }

  struct Deleter {
    void operator()(lprec* lp) const { delete_lp(lp); }
  };

  const Block& block_;
  std::vector<std::size_t> items_;
  std::unique_ptr<lprec, Deleter> lp_;
};

}  // namespace

std::optional<std::vector<bool>> cheaper_choice(const Block& block, std::uint64_t least,
                                                std::uint64_t most_ns) {
  return Program(block).run(least, most_ns);
}

}  // namespace stowage::planner::schedule
