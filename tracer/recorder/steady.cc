#include "tracer/recorder/steady.h"

#include <cstddef>

namespace stowage::tracer {
namespace {

bool looks_equal(const Segment& a, const Segment& b) {
  return a.dropped == 0 && b.dropped == 0 && a.fingerprint == b.fingerprint &&
         a.end_buffer - a.first_buffer == b.end_buffer - b.first_buffer;
}

bool is_equal(const Segment& a, const Segment& b, const Log<Buffer>& buffers) {
  for (std::uint64_t i = 0; i < a.end_buffer - a.first_buffer; ++i) {
    const Buffer& left = buffers[a.first_buffer + i];
    const Buffer& right = buffers[b.first_buffer + i];
    if (left.rounded != right.rounded || left.stream != right.stream) return false;
  }
  return true;
}

// Whether the last `period` segments equal the ones before. All hashes first: they decide nearly always.
bool repeats(const std::deque<Segment>& segments, const Log<Buffer>& buffers, std::size_t period) {
  const std::size_t count = segments.size();
  for (std::size_t i = count - period; i < count; ++i) {
    if (!looks_equal(segments[i], segments[i - period])) return false;
  }
  for (std::size_t i = count - period; i < count; ++i) {
    if (!is_equal(segments[i], segments[i - period], buffers)) return false;
  }
  return true;
}

}  // namespace

std::uint32_t find_period(const std::deque<Segment>& segments, const Log<Buffer>& buffers,
                          std::uint32_t max_period) {
  for (std::uint32_t period = 1; period <= max_period && 2 * std::size_t{period} <= segments.size();
       ++period) {
    if (repeats(segments, buffers, period)) return period;
  }
  return 0;
}

}  // namespace stowage::tracer
