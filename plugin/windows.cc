#include "plugin/windows.h"

#include <algorithm>

namespace stowage::plugin {
namespace {

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

// Alive when the window begins: dies in it once, or lives through both times.
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

}  // namespace stowage::plugin
