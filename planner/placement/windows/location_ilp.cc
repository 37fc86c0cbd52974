#include "planner/placement/windows/location_ilp.h"

#include <lpsolve/lp_lib.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace stowage::planner::placement {
namespace {

/// lp_solve works with doubles and tolerances of 1e-9 and more: sums of units beyond this are not exact.
constexpr std::uint64_t kMostUnits = 1u << 24;

/// What divides every number of the problem.
std::uint64_t unit_of(const IlpProblem& problem) {
  std::uint64_t unit = std::gcd(problem.floor, problem.capacity);
  for (const IlpBuffer& buffer : problem.buffers) {
    unit = std::gcd(unit, buffer.size);
    if (buffer.alignment > 1) unit = std::gcd(unit, buffer.alignment);
    for (const AddressRange& range : buffer.allowed) unit = std::gcd(unit, std::gcd(range.begin, range.end));
  }
  return std::max<std::uint64_t>(unit, 1);
}

struct Watch {
  const Limits* limits;
  std::uint64_t most;
  std::uint64_t taken = 0;
  static int over(lprec* /*lp*/, void* self) {
    auto* const watch = static_cast<Watch*>(self);
    return ++watch->taken > watch->most || watch->limits->over() ? 1 : 0;
  }
};

/// The program: columns are the height, an address for each buffer in multiples of its alignment, a binary
/// for each pair, a binary for each stretch of each buffer.
class Program {
 public:
  explicit Program(const IlpProblem& problem)
      : problem_(problem),
        unit_(unit_of(problem)),
        lp_(make_lp(0, 1 + static_cast<int>(problem.buffers.size() + problem.meets.size() + stretches())),
            delete_lp) {
    set_verbose(lp_.get(), NEUTRAL);
  }

  [[nodiscard]] bool usable() const { return lp_ != nullptr && problem_.capacity / unit_ <= kMostUnits; }

  IlpAnswer run(Watch& watch) {
    fill();
    put_abortfunc(lp_.get(), Watch::over, &watch);
    const int outcome = solve(lp_.get());
    IlpAnswer found;
    if (outcome == INFEASIBLE) found.kind = IlpAnswer::Kind::kInfeasible;
    if (outcome == OPTIMAL) found = answer();
    found.steps = watch.taken;
    return found;
  }

 private:
  static constexpr int kHeight = 1;
  [[nodiscard]] static int address(std::size_t buffer) { return 2 + static_cast<int>(buffer); }
  [[nodiscard]] int above(std::size_t pair) const { return address(problem_.buffers.size() + pair); }
  [[nodiscard]] int stretch(std::size_t index) const { return above(problem_.meets.size() + index); }
  [[nodiscard]] std::size_t stretches() const {
    std::size_t sum = 0;
    for (const IlpBuffer& buffer : problem_.buffers) sum += buffer.allowed.size();
    return sum;
  }
  [[nodiscard]] double units(std::uint64_t bytes) const {
    const std::uint64_t whole = bytes / unit_;
    return static_cast<double>(whole);
  }
  /// Units that one step of the buffer's address column stands for.
  [[nodiscard]] double step(std::size_t buffer) const {
    return units(std::max(problem_.buffers[buffer].alignment, unit_));
  }

  void row(std::vector<double> values, std::vector<int> columns, int kind, double right) {
    add_constraintex(lp_.get(), static_cast<int>(values.size()), values.data(), columns.data(), kind, right);
  }

  void fill() {
    set_add_rowmode(lp_.get(), TRUE);
    double one = 1;
    int height = kHeight;
    set_obj_fnex(lp_.get(), 1, &one, &height);
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b)
      row({1, -step(b)}, {kHeight, address(b)}, GE, units(problem_.buffers[b].size));
    pairs();
    choices();
    set_add_rowmode(lp_.get(), FALSE);
    set_bounds(lp_.get(), kHeight, units(problem_.floor), units(problem_.capacity));
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b)
      set_int(lp_.get(), address(b), problem_.buffers[b].alignment > unit_ ? TRUE : FALSE);
    for (std::size_t p = 0; p < problem_.meets.size(); ++p) set_binary(lp_.get(), above(p), TRUE);
    for (std::size_t s = 0; s < stretches(); ++s) set_binary(lp_.get(), stretch(s), TRUE);
  }

  void pairs() {
    const double most = units(problem_.capacity);
    for (std::size_t p = 0; p < problem_.meets.size(); ++p) {
      const auto [a, b] = problem_.meets[p];
      const double a_size = units(problem_.buffers[a].size), b_size = units(problem_.buffers[b].size);
      // 1: a lies above b. What the other case then demands is true anyway, as nothing is above the capacity.
      row({step(a), -step(b), -most}, {address(a), address(b), above(p)}, GE, b_size - most);
      row({step(b), -step(a), most}, {address(b), address(a), above(p)}, GE, a_size);
    }
  }

  void choices() {
    std::size_t next = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const std::vector<AddressRange>& allowed = problem_.buffers[b].allowed;
      if (allowed.empty()) continue;
      std::vector<double> ones, low{step(b)}, high{step(b)};
      std::vector<int> chosen, columns{address(b)};
      for (const AddressRange& range : allowed) {
        ones.push_back(1);
        low.push_back(-units(range.begin));
        high.push_back(-units(range.end));
        chosen.push_back(stretch(next));
        columns.push_back(stretch(next++));
      }
      row(ones, chosen, EQ, 1);
      row(low, columns, GE, 0);
      row(high, columns, LE, -units(problem_.buffers[b].size));
    }
  }

  IlpAnswer answer() {
    std::vector<double> values(static_cast<std::size_t>(get_Ncolumns(lp_.get())));
    if (get_variables(lp_.get(), values.data()) == FALSE) return {};
    IlpAnswer found{IlpAnswer::Kind::kOptimal, {}, problem_.floor, 0};
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const double exact = values[static_cast<std::size_t>(address(b) - 1)] * step(b);
      found.offsets.push_back(static_cast<std::uint64_t>(std::llround(std::max(exact, 0.0))) * unit_);
      found.height = std::max(found.height, found.offsets.back() + problem_.buffers[b].size);
    }
    return found;
  }

  const IlpProblem& problem_;
  std::uint64_t unit_;
  std::unique_ptr<lprec, void (*)(lprec*)> lp_;
};

/// Doubles may lie; integers do not.
bool holds(const IlpProblem& problem, const IlpAnswer& answer) {
  const auto end = [&](std::size_t b) { return answer.offsets[b] + problem.buffers[b].size; };
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const IlpBuffer& buffer = problem.buffers[b];
    if (answer.offsets[b] % buffer.alignment != 0 || end(b) > problem.capacity) return false;
    const auto in = [&](const AddressRange& range) {
      return range.begin <= answer.offsets[b] && end(b) <= range.end;
    };
    if (!buffer.allowed.empty() && std::none_of(buffer.allowed.begin(), buffer.allowed.end(), in))
      return false;
  }
  return std::all_of(problem.meets.begin(), problem.meets.end(), [&](const auto& pair) {
    return end(pair.first) <= answer.offsets[pair.second] || end(pair.second) <= answer.offsets[pair.first];
  });
}

}  // namespace

IlpAnswer solve_location_ilp(const IlpProblem& problem, const Limits& limits, std::uint64_t steps) {
  Program program(problem);
  if (!program.usable()) return {};
  Watch watch{&limits, steps};
  IlpAnswer answer = program.run(watch);
  if (answer.kind == IlpAnswer::Kind::kOptimal && !holds(problem, answer))
    answer.kind = IlpAnswer::Kind::kUnknown;
  return answer;
}

}  // namespace stowage::planner::placement
