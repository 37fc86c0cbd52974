#include "session/plans/windows.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stowage::session {
namespace {

// A multiplicative hash step; the constant is 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4).
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ (value + 1)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

// Moves ticks of the window to its first (0) or second (1) time in the repetition.
struct Shift {
  Window window;
  std::uint64_t time = 0;

  [[nodiscard]] std::uint64_t length() const { return window.end.value() - window.begin.value(); }
  [[nodiscard]] Tick operator()(Tick tick) const {
    return Tick(tick.value() - window.begin.value() + time * length());
  }

  [[nodiscard]] Tick death(Tick tick) const {
    if (tick < window.end) return (*this)(tick);
    if (tick == kNever || time == 1) return kNever;
    // It died after the window: in the repetition, but no later than its end.
    return Tick(length() + std::min(tick.value() - window.end.value(), length() - 1));
  }
};

Buffer moved(const Buffer& buffer, const Shift& shift) {
  Buffer copy = buffer;
  copy.op = kNoOp;
  copy.birth = buffer.preexisting ? Tick(0) : shift(buffer.birth);
  copy.death = shift.death(buffer.death);
  copy.free_requested = copy.death;
  return copy;
}

using Kind = std::pair<std::uint64_t, std::uint32_t>;  // rounded bytes, stream
Kind kind_of(const Buffer& buffer) { return {buffer.rounded.value(), buffer.stream.value()}; }

// The deaths in the window of buffers that were carried into it, by kind, in order of birth.
std::map<Kind, std::vector<Tick>> carried_deaths(const Trace& trace, const Window& window) {
  std::map<Kind, std::vector<Tick>> deaths;
  for (const Buffer& buffer : trace.buffers) {
    const bool carried = buffer.preexisting || buffer.birth < window.begin;
    if (carried && !buffer.cross_stream && buffer.death >= window.begin && buffer.death < window.end)
      deaths[kind_of(buffer)].push_back(buffer.death);
  }
  return deaths;
}

// If another kind of iteration comes next, crossing buffers die when that one frees them. When this
// iteration freed the buffers that were carried into it shows how long such buffers live if the same kind
// comes next.
void outlive_carried(std::vector<Buffer>& born, const Trace& trace, const Window& window) {
  const std::map<Kind, std::vector<Tick>> deaths = carried_deaths(trace, window);
  std::map<Kind, std::size_t> seen;
  for (Buffer& buffer : born) {
    if (buffer.death < window.end || buffer.death == kNever || buffer.cross_stream) continue;
    const auto found = deaths.find(kind_of(buffer));
    if (found == deaths.end()) continue;
    const std::size_t nth = std::min(seen[found->first]++, found->second.size() - 1);
    buffer.death =
        std::max(buffer.death, Tick(window.end.value() + found->second[nth].value() - window.begin.value()));
  }
}

// Alive when the window begins: dies in it once, or lives through both repetitions.
Buffer carried_in(const Buffer& buffer, const Shift& first) {
  Buffer copy = buffer;
  copy.preexisting = true;
  copy.op = kNoOp;
  copy.birth = Tick(0);
  copy.death = buffer.death < first.window.end ? first(buffer.death) : kNever;
  copy.free_requested = copy.death;
  return copy;
}

}  // namespace

std::uint64_t kind_of_iteration(const Trace& trace, const Window& window) {
  std::uint64_t kind = window.fingerprint;
  std::uint64_t ordinal = 0;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.preexisting || buffer.birth < window.begin || buffer.birth >= window.end) continue;
    if (buffer.death >= window.end && !buffer.cross_stream) kind = mixed(kind, ordinal);
    ++ordinal;
  }
  return kind;
}

std::uint64_t kind_of_iteration(const Plan& plan) {
  std::uint64_t kind = plan.fingerprint;
  for (std::uint64_t ordinal = 0; ordinal < plan.entries.size(); ++ordinal) {
    if (plan.entries[ordinal].crosses) kind = mixed(kind, ordinal);
  }
  return kind;
}

std::vector<Window> windows_of(const Trace& trace) {
  std::vector<Window> windows;
  for (std::size_t i = 1; i < trace.marks.size(); ++i) {
    const Tick begin = trace.marks[i - 1].tick;
    const Tick end = trace.marks[i].tick;
    windows.push_back({begin, end, fingerprint(trace, begin, end)});
  }
  return windows;
}

std::optional<Window> last_window(const Trace& trace, std::uint32_t marks) {
  if (trace.marks.size() <= marks) return std::nullopt;
  const Tick begin = trace.marks[trace.marks.size() - 1 - marks].tick;
  const Tick end = trace.marks.back().tick;
  return Window{begin, end, fingerprint(trace, begin, end)};
}

Trace repeat_window(const Trace& trace, const Window& window) {
  Trace twice;
  twice.info = trace.info;
  const Shift first{window, 0};
  const Shift second{window, 1};
  std::vector<Buffer> born;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.birth >= window.end) break;
    if (!buffer.preexisting && buffer.birth >= window.begin) {
      born.push_back(buffer);
    } else if (buffer.death > window.begin) {
      twice.buffers.push_back(carried_in(buffer, first));
    }
  }
  outlive_carried(born, trace, window);
  for (const Shift& shift : {first, second}) {
    for (const Buffer& buffer : born) twice.buffers.push_back(moved(buffer, shift));
    for (const Mark& mark : trace.marks)
      if (mark.tick >= window.begin && mark.tick < window.end)
        twice.marks.push_back({shift(mark.tick), mark.source});
  }
  const Tick end(2 * first.length());
  twice.marks.push_back({end, MarkSource::kUser});
  twice.end = Tick(end.value() + 1);
  twice.steady = SteadyWindow{Tick(0), Tick(first.length()), end};
  return twice;
}

}  // namespace stowage::session
