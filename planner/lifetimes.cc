#include "planner/lifetimes.h"

#include <algorithm>
#include <optional>
#include <string>

namespace stowage::planner {
namespace {

Error unplannable(const std::string& what) {
  return Error{ErrorCode::kUnplannable, "this trace cannot be planned from: " + what};
}

/// The allocations of one window, and ordinals for its ticks.
class Window {
 public:
  Window(const Trace& trace, Tick begin, Tick end) : begin_(begin), end_(end) {
    for (const Buffer& buffer : trace.buffers) {
      if (!buffer.preexisting && buffer.birth >= begin && buffer.birth < end) born_.push_back(&buffer);
    }
    std::stable_sort(born_.begin(), born_.end(),
                     [](const Buffer* a, const Buffer* b) { return a->birth < b->birth; });
  }
  [[nodiscard]] std::uint64_t size() const { return born_.size(); }
  [[nodiscard]] const Buffer& operator[](std::size_t k) const { return *born_[k]; }
  [[nodiscard]] bool holds(Tick tick) const { return tick >= begin_ && tick < end_; }
  /// Number of allocations before `tick`, that is the ordinal of the first one after it.
  [[nodiscard]] std::uint64_t ordinal(Tick tick) const {
    const auto after =
        std::partition_point(born_.begin(), born_.end(), [&](const Buffer* b) { return b->birth < tick; });
    return static_cast<std::uint64_t>(after - born_.begin());
  }

 private:
  Tick begin_, end_;
  std::vector<const Buffer*> born_;
};

Status check_windows(const Trace& trace) {
  if (trace.dropped != 0) {
    return unplannable(
        std::to_string(trace.dropped) +
        " events were dropped while recording; raise the bound on recorded events and record again");
  }
  if (!trace.steady) return unplannable("it has no steady window; record until two iterations agree");
  const SteadyWindow& s = *trace.steady;
  if (s.previous_begin >= s.begin || s.begin >= s.end || s.end > trace.end) {
    return unplannable("its steady window is damaged; record it again");
  }
  return {};
}

Status check_agreement(const Window& previous, const Window& steady) {
  if (steady.size() == 0)
    return unplannable("its steady window has no allocations; there is nothing to plan");
  if (previous.size() != steady.size()) {
    return unplannable("its last two windows made " + std::to_string(previous.size()) + " and " +
                       std::to_string(steady.size()) + " allocations; record until two iterations agree");
  }
  for (std::size_t k = 0; k < steady.size(); ++k) {
    if (previous[k].rounded != steady[k].rounded || previous[k].stream != steady[k].stream) {
      return unplannable("allocation " + std::to_string(k) +
                         " differs between its last two windows; record until two iterations agree");
    }
    if (steady[k].rounded.value() % kGranule.value() != 0) {
      return unplannable("allocation " + std::to_string(k) +
                         " is not a whole number of granules; record it again");
    }
  }
  return {};
}

struct Life {
  LifeClass kind = LifeClass::kUpstream;
  std::uint64_t death = 0;  ///< in ordinals, above the period when it wraps
  bool crosses =
      false;  ///< alive at the iteration's end, if only until before the next one's first allocation
};

/// The rules of the header for allocation k.
Life life_of(const Window& previous, const Window& steady, std::size_t k) {
  const std::uint64_t period = steady.size();
  const Buffer& before = previous[k];
  const Buffer& now = steady[k];
  if (now.rounded.value() == 0) return {};
  if (steady.holds(before.death)) {
    const std::uint64_t crossing = steady.ordinal(before.death);
    if (crossing == 0) return {LifeClass::kTransient, period, true};
    return crossing <= k ? Life{LifeClass::kCyclic, period + crossing, true}
                         : Life{LifeClass::kTwoSlots, k + period, true};
  }
  if (!previous.holds(before.death)) return {LifeClass::kUpstream, 0, true};
  if (!steady.holds(now.death)) return {LifeClass::kCyclic, k + period, true};
  if (before.cross_stream || now.cross_stream) return {LifeClass::kTransient, period};
  return {LifeClass::kTransient, std::max(previous.ordinal(before.death), steady.ordinal(now.death))};
}

void add_entry(const Buffer& buffer, const Life& life, Lifetimes& out) {
  const auto entry = static_cast<std::uint32_t>(out.entries.size());
  const auto death = static_cast<std::uint32_t>(std::min(life.death, out.problem.period));
  out.entries.push_back({buffer.rounded, buffer.stream, kUpstream, kUpstream, life.crosses, death});
  out.classes.push_back(life.kind);
  if (life.kind == LifeClass::kUpstream) return;
  placement::Item item;
  item.birth = entry;
  item.death = life.death;
  item.size = buffer.rounded;
  item.stream_class = buffer.stream.value();
  for (bool spare : {false, true}) {
    if (spare && life.kind != LifeClass::kTwoSlots) break;
    out.problem.items.push_back(item);
    out.slots.push_back({entry, spare});
  }
}

/// Windows begin either at a mark's tick or right after it, as the recorder counts; the marks that bound the
/// window are not inside it.
std::vector<std::uint32_t> inner_marks(const Trace& trace, const Window& steady) {
  const SteadyWindow& window = *trace.steady;
  const bool begins_at_mark = std::any_of(trace.marks.begin(), trace.marks.end(),
                                          [&](const Mark& m) { return m.tick == window.begin; });
  const Tick last = begins_at_mark ? window.end : Tick(window.end.value() - 1);
  std::vector<std::uint32_t> ordinals;
  for (const Mark& mark : trace.marks) {
    if (mark.tick <= window.begin && begins_at_mark) continue;
    if (mark.tick < window.begin || mark.tick >= last) continue;
    ordinals.push_back(static_cast<std::uint32_t>(steady.ordinal(mark.tick)));
  }
  std::sort(ordinals.begin(), ordinals.end());
  return ordinals;
}

}  // namespace

Result<Lifetimes> find_lifetimes(const Trace& trace) {
  if (Status status = check_windows(trace); !status) return status.error();
  const Window previous(trace, trace.steady->previous_begin, trace.steady->begin);
  const Window steady(trace, trace.steady->begin, trace.steady->end);
  if (Status status = check_agreement(previous, steady); !status) return status.error();
  Lifetimes out;
  out.problem.period = steady.size();
  for (std::size_t k = 0; k < steady.size(); ++k) add_entry(steady[k], life_of(previous, steady, k), out);
  out.inner_marks = inner_marks(trace, steady);
  return out;
}

}  // namespace stowage::planner
