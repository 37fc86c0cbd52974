#include "session/plans/windows.h"

namespace stowage::session {

std::optional<Window> last_window(const Trace& trace, std::uint32_t marks) {
  if (trace.marks.size() <= marks) return std::nullopt;
  const Tick begin = trace.marks[trace.marks.size() - 1 - marks].tick;
  const Tick end = trace.marks.back().tick;
  return Window{begin, end, fingerprint(trace, begin, end)};
}

}  // namespace stowage::session
