#include "tracer/recorder/op_medians.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace stowage::tracer {
namespace {

// Of the ops of a trace, those of one place in an iteration: index of the iteration, index of the op.
struct Measured {
  std::size_t iteration;
  std::size_t op;
};
// Thread, name, how many of that name the thread has run before in the iteration.
using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using ByPlace = std::map<Place, std::vector<Measured>>;

bool is_measured(const Op& op) {
  return op.timed_by == TimeSource::kCupti || op.timed_by == TimeSource::kEvents;
}

// Iterations are counted backwards from the last mark, so that each is a whole one.
std::vector<Tick> borders_of(const Trace& trace, std::uint32_t period) {
  std::vector<Tick> borders;
  for (std::size_t i = trace.marks.size(); i > 0; i = i > period ? i - period : 0)
    borders.push_back(trace.marks[i - 1].tick);
  std::reverse(borders.begin(), borders.end());
  return borders;
}

ByPlace by_place(const Trace& trace, std::uint32_t period) {
  const std::vector<Tick> borders = borders_of(trace, period);
  ByPlace places;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seen;
  std::size_t iteration = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    const auto now = static_cast<std::size_t>(std::upper_bound(borders.begin(), borders.end(), op.begin) -
                                              borders.begin());
    if (now != iteration) seen.clear();
    iteration = now;
    const std::uint32_t before = seen[{op.thread, op.name}]++;
    if (is_measured(op)) places[{op.thread, op.name, before}].push_back({iteration, i});
  }
  return places;
}

template <class Get>
std::uint64_t median(const std::vector<Measured>& counted, Get get) {
  std::vector<std::uint64_t> values;
  values.reserve(counted.size());
  for (const Measured& one : counted) values.push_back(get(one.op));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void even_out(Trace& trace, const std::vector<Measured>& all, std::size_t first) {
  std::vector<Measured> counted;
  for (const Measured& one : all)
    if (one.iteration != first) counted.push_back(one);
  if (counted.empty()) return;
  const std::uint64_t duration = median(counted, [&](std::size_t op) { return trace.ops[op].duration_ns; });
  OpOnDevice middle;
  if (!trace.on_device.empty()) {
    middle.copy_ns = median(counted, [&](std::size_t op) { return trace.on_device[op].copy_ns; });
    middle.overlap_ns = median(counted, [&](std::size_t op) { return trace.on_device[op].overlap_ns; });
    middle.wait_ns = median(counted, [&](std::size_t op) { return trace.on_device[op].wait_ns; });
  }
  for (const Measured& one : all) {
    trace.ops[one.op].duration_ns = duration;
    if (trace.on_device.empty()) continue;
    middle.launches = trace.on_device[one.op].launches;
    trace.on_device[one.op] = middle;
  }
}

}  // namespace

void take_medians(Trace& trace, std::uint32_t period) {
  const ByPlace places = by_place(trace, period);
  std::size_t first = ~std::size_t{0};
  for (const auto& [place, measured] : places) first = std::min(first, measured.front().iteration);
  for (const auto& [place, measured] : places) even_out(trace, measured, first);
}

}  // namespace stowage::tracer
