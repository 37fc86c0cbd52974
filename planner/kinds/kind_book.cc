#include "planner/kinds/kind_book.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/kinds/roles.h"

namespace stowage::planner {
namespace {

// Iterations' ends that what crosses one may live through, by a plan: that does not say how many.
constexpr std::uint32_t kOutlivesPerhaps = 8;

/// An iteration of a trace: its allocations, and ordinals for its ticks.
struct Window {
  Tick begin{0};
  Tick end{0};
  std::vector<const Buffer*> born;
  std::vector<Tick> births;  ///< of these
  std::optional<std::uint32_t> kind;

  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(born.size()); }
  /// Number of allocations before `tick`, that is the ordinal of the first one after it.
  [[nodiscard]] std::uint32_t ordinal(Tick tick) const {
    return static_cast<std::uint32_t>(std::lower_bound(births.begin(), births.end(), tick) - births.begin());
  }
};

std::vector<Window> windows_of(const Trace& trace) {
  std::vector<Window> windows;
  auto buffer = trace.buffers.begin();
  while (buffer != trace.buffers.end() && buffer->preexisting) ++buffer;
  Tick begin{0};
  for (const Mark& mark : trace.marks) {
    Window window{std::exchange(begin, mark.tick), mark.tick, {}, {}, {}};
    if (window.begin == window.end) continue;
    for (; buffer != trace.buffers.end() && buffer->birth < window.end; ++buffer) {
      if (buffer->birth < window.begin) continue;
      window.born.push_back(&*buffer);
      window.births.push_back(buffer->birth);
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

bool is_request(const Allocation& allocation, const Buffer* buffer) {
  return allocation.rounded == buffer->rounded && allocation.stream == buffer->stream;
}

bool same_requests(const Kind& kind, const Window& window) {
  return std::equal(kind.allocations.begin(), kind.allocations.end(), window.born.begin(), window.born.end(),
                    is_request);
}

bool begins_with(const Window& window, const Kind& kind, std::uint32_t length) {
  return length <= length_of(kind) && std::equal(kind.allocations.begin(), kind.allocations.begin() + length,
                                                 window.born.begin(), is_request);
}

/// All of `kind` is the end of `window`, and what the window made before that is gone by then.
bool ends_with(const Window& window, const Kind& kind) {
  if (kind.allocations.empty() || length_of(kind) >= window.length()) return false;
  const auto again = window.born.end() - length_of(kind);
  return std::equal(kind.allocations.begin(), kind.allocations.end(), again, is_request) &&
         std::all_of(window.born.begin(), again, [&](const Buffer* b) { return b->death < (*again)->birth; });
}

/// Something from before `window` is freed as early in its second part as its first part, of `begun`
/// allocations, would have freed it, had it been the same: so it was not, as an evaluation before a training
/// step.
bool passes_on(const Trace& trace, const Window& window, std::uint32_t begun) {
  return std::any_of(trace.buffers.begin(), trace.buffers.end(), [&](const Buffer& buffer) {
    if (buffer.birth >= window.begin || buffer.death >= window.end) return false;
    const std::uint32_t ordinal = window.ordinal(buffer.death);
    return ordinal >= begun && ordinal < 2 * begun;
  });
}

Kind kind_of(const Window& window, std::uint64_t fingerprint) {
  Kind kind;
  kind.fingerprint = fingerprint;
  for (const Buffer* buffer : window.born) kind.allocations.push_back({buffer->rounded, buffer->stream});
  return kind;
}

}  // namespace

/// Reads one trace into a book.
class KindBook::Reader {
 public:
  Reader(KindBook& book, const Trace& trace, const Wanted& wanted)
      : book_(book), windows_(windows_of(trace)) {
    for (Window& window : windows_) window.kind = number_of(trace, window, wanted);
  }

  void read() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (!windows_[i].kind) continue;
      if (i > 0 && windows_[i - 1].kind) book_.transitions_[{*windows_[i - 1].kind, *windows_[i].kind}];
      for (std::uint32_t k = 0; k < windows_[i].length(); ++k) read_life(i, k);
    }
    note_history();
  }

 private:
  std::optional<std::uint32_t> number_of(const Trace& trace, const Window& window, const Wanted& wanted) {
    if (window.born.empty()) return std::nullopt;
    const std::uint64_t fingerprint = stowage::fingerprint(trace, window.begin, window.end);
    const auto known = book_.numbers_.find(fingerprint);
    if (known != book_.numbers_.end()) {
      if (!same_requests(book_.kinds_[known->second], window)) return std::nullopt;
      return known->second;
    }
    if (!wanted(fingerprint) || was_begun_again(trace, window)) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(book_.kinds_.size());
    book_.kinds_.push_back(kind_of(window, fingerprint));
    book_.numbers_.emplace(fingerprint, number);
    return number;
  }

  /// An iteration that an exception cut short, and the next one: no kind of its own, the cursor begins again.
  [[nodiscard]] bool was_begun_again(const Trace& trace, const Window& window) const {
    const std::vector<Kind>& kinds = book_.kinds_;
    for (const Kind& whole : kinds) {
      if (!ends_with(window, whole)) continue;
      const std::uint32_t begun = window.length() - length_of(whole);
      if (passes_on(trace, window, begun)) continue;
      if (std::any_of(kinds.begin(), kinds.end(),
                      [&](const Kind& kind) { return begins_with(window, kind, begun); }))
        return true;
    }
    return false;
  }

  void read_life(std::size_t index, std::uint32_t k) {
    const Window& own = windows_[index];
    const Buffer& buffer = *own.born[k];
    Allocation& life = book_.kinds_[*own.kind].allocations[k];
    const bool ends_inside = buffer.death < own.end;
    note_at_once(buffer, {*own.kind, k}, ends_inside, life);
    // When other streams are done with it depends on the device.
    const std::uint32_t death =
        ends_inside && !buffer.cross_stream ? own.ordinal(buffer.death) : own.length();
    life.death = std::max(life.death, death);
    if (ends_inside) {
      life.ended = true;
      return;
    }
    life.crosses = true;
    follow(index, k, buffer, life);
  }

  /// What later iterations find alive.
  void follow(std::size_t index, std::uint32_t k, const Buffer& buffer, Allocation& life) {
    for (std::size_t next = index + 1; next < windows_.size(); ++next) {
      const Window& later = windows_[next];
      const bool ends = buffer.death < later.end;
      if (ends) {
        life.ended = true;
        life.outlived = std::max(life.outlived, static_cast<std::uint32_t>(next - index));
      } else if (later.kind == windows_[index].kind) {
        life.spans = true;
      }
      if (windows_[next - 1].kind && later.kind) {
        const std::uint32_t death = ends ? later.ordinal(buffer.death) : later.length();
        std::uint32_t& most =
            book_.transitions_[{*windows_[next - 1].kind, *later.kind}][{*windows_[index].kind, k}];
        most = std::max(most, death);
      }
      if (ends) return;
    }
    if (buffer.death != kNever) life.ended = true;  // in the iteration that is under way
  }

  void note_at_once(const Buffer& buffer, Key key, bool ends_inside, Allocation& life) {
    life.at_once = std::max(life.at_once, 1u);
    if (ends_inside && deaths_.count(key) == 0) return;  // the next one is born in another iteration
    std::vector<Tick>& deaths = deaths_[key];
    std::erase_if(deaths, [&](Tick death) { return death < buffer.birth; });
    deaths.push_back(buffer.death);
    life.at_once = std::max(life.at_once, static_cast<std::uint32_t>(deaths.size()));
  }

  void note_history() {
    book_.history_.clear();
    for (const Window& window : windows_) {
      if (window.kind) book_.history_.push_back(*window.kind);
    }
  }

  KindBook& book_;
  std::vector<Window> windows_;
  std::map<Key, std::vector<Tick>> deaths_;  ///< of instances that are alive, where iterations were outlived
};

Status KindBook::observe(const Trace& trace, const Wanted& wanted) {
  if (trace.dropped != 0) {
    return Error{
        ErrorCode::kUnplannable,
        std::to_string(trace.dropped) +
            " events were dropped while recording; raise the bound on recorded events and record again"};
  }
  Reader(*this, trace, wanted).read();
  return {};
}

void KindBook::adopt(const Plan& plan) {
  if (knows(plan.fingerprint) || plan.entries.empty()) return;
  const auto number = static_cast<std::uint32_t>(kinds_.size());
  const auto length = static_cast<std::uint32_t>(plan.entries.size());
  Kind kind;
  kind.fingerprint = plan.fingerprint;
  std::map<Key, std::uint32_t>& carried = transitions_[{number, number}];
  for (std::uint32_t k = 0; k < length; ++k) {
    const PlanEntry& entry = plan.entries[k];
    const bool two = entry.spare != kUpstream;
    kind.allocations.push_back({entry.rounded, entry.stream, std::min(entry.death, length), entry.crosses,
                                entry.offset != kUpstream, two ? 2u : 1u,
                                entry.crosses ? kOutlivesPerhaps : 0u, false});
    if (entry.crosses && !two) carried[{number, k}] = k;
  }
  kinds_.push_back(std::move(kind));
  numbers_.emplace(plan.fingerprint, number);
}

void KindBook::expect(const Plan& plan) {
  if (knows(plan.fingerprint) || plan.entries.empty()) return;
  numbers_.emplace(plan.fingerprint, static_cast<std::uint32_t>(kinds_.size()));
  Kind& kind = kinds_.emplace_back();
  kind.fingerprint = plan.fingerprint;
  for (const PlanEntry& entry : plan.entries) kind.allocations.push_back({entry.rounded, entry.stream});
}

const Kind* KindBook::find(std::uint64_t fingerprint) const {
  const auto found = numbers_.find(fingerprint);
  return found == numbers_.end() ? nullptr : &kinds_[found->second];
}

std::uint32_t KindBook::outlived_at_most() const {
  std::uint32_t most = 0;
  for (const Kind& kind : kinds_) {
    for (const Allocation& allocation : kind.allocations) most = std::max(most, allocation.outlived);
  }
  return most;
}

Kinds KindBook::kinds() const {
  Kinds all{kinds_, {}, history_};
  share_roles(all.kinds);
  for (const auto& [pair, lives] : transitions_) {
    Transition& transition = all.transitions.emplace_back(Transition{pair.first, pair.second, {}});
    for (const auto& [allocation, death] : lives) {
      transition.carried.push_back({allocation.first, allocation.second, death});
    }
  }
  return all;
}

}  // namespace stowage::planner
