#include "planner/schedule/blocks/programme.h"

#include <algorithm>
#include <array>
#include <limits>

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kUnits = 512;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// The cheapest way to come to one number of units.
struct Cell {
  std::uint64_t cost_ns = kNever;
  std::uint16_t units_before = 0;
  bool kept_before = true;
  Choice choice;
};

/// By whether the last block keeps its border, and by units dropped.
using Layer = std::array<std::array<Cell, kUnits + 1>, 2>;

class Programme {
 public:
  explicit Programme(const ChainProblem& problem) : problem_(problem), layers_(problem.options.size() + 1) {
    std::uint64_t all = 0;
    for (std::size_t b = 0; b < blocks(); ++b) all += problem.options[b].back().dropped + problem.border[b];
    unit_ = std::max<std::uint64_t>(1, (all + kUnits - 1) / kUnits);
  }

  std::optional<std::vector<Choice>> run() {
    layers_[0][1][0].cost_ns = 0;
    for (std::size_t b = 0; b < blocks(); ++b) {
      for (const bool kept : {false, true}) {
        for (std::uint64_t units = 0; units <= kUnits; ++units) extend(b, kept, units);
      }
    }
    return traced();
  }

 private:
  [[nodiscard]] std::size_t blocks() const { return problem_.options.size(); }

  void extend(std::size_t b, bool kept, std::uint64_t units) {
    const std::uint64_t cost = layers_[b][kept ? 1 : 0][units].cost_ns;
    const BlockNeed& need = problem_.needs[b];
    if (cost == kNever || units * unit_ < need.forward) return;
    const std::uint64_t held = kept ? 0 : problem_.border[b - 1];
    for (std::uint32_t i = 0; i < problem_.options[b].size(); ++i) {
      const BlockOption& option = problem_.options[b][i];
      const auto own = static_cast<std::uint64_t>(problem_.own_part * static_cast<double>(option.dropped));
      if (units * unit_ + own < need.backward + held) continue;
      Cell cell{cost + option.own_ns, static_cast<std::uint16_t>(units), kept, {i, true}};
      take(b + 1, units + option.dropped / unit_, cell);
      if (!kept || problem_.border[b] == 0) continue;
      cell.cost_ns += option.path_ns;
      cell.choice.keeps_border = false;
      take(b + 1, units + (option.dropped + problem_.border[b]) / unit_, cell);
    }
  }

  void take(std::size_t layer, std::uint64_t units, const Cell& cell) {
    Cell& there = layers_[layer][cell.choice.keeps_border ? 1 : 0][std::min(units, kUnits)];
    if (cell.cost_ns < there.cost_ns) there = cell;
  }

  std::optional<std::vector<Choice>> traced() const {
    const Cell* at = nullptr;
    for (const auto& cells : layers_.back()) {
      for (std::uint64_t units = 0; units <= kUnits; ++units) {
        const Cell& cell = cells[units];
        if (units * unit_ < problem_.dropped || cell.cost_ns == kNever) continue;
        if (at == nullptr || cell.cost_ns < at->cost_ns) at = &cell;
      }
    }
    if (at == nullptr) return std::nullopt;
    std::vector<Choice> choices(blocks());
    for (std::size_t b = blocks(); b-- > 0;) {
      choices[b] = at->choice;
      at = &layers_[b][at->kept_before ? 1 : 0][at->units_before];
    }
    return choices;
  }

  const ChainProblem& problem_;
  std::uint64_t unit_ = 1;  ///< bytes
  std::vector<Layer> layers_;
};

}  // namespace

std::optional<std::vector<Choice>> choose_options(const ChainProblem& problem) {
  return Programme(problem).run();
}

}  // namespace stowage::planner::schedule
