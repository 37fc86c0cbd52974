#include "core/trace.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/support/mix.h"

namespace stowage {

const char* to_string(TimeSource source) {
  static constexpr std::array kWords{"none", "host", "events", "cupti", "model"};
  return kWords.at(static_cast<std::size_t>(source));
}

const char* to_string(ActivityKind kind) {
  static constexpr std::array kWords{"kernel", "copy", "fill", "call", "wait", "memory", "overhead"};
  return kWords.at(static_cast<std::size_t>(kind));
}

namespace {

std::uint64_t mixed_in(std::uint64_t hash, std::uint64_t word) { return mix(hash + kGoldenGamma + word); }

}  // namespace

std::uint64_t fingerprint(const Trace& trace, Tick begin, Tick end) {
  const auto first = std::lower_bound(trace.buffers.begin(), trace.buffers.end(), begin,
                                      [](const Buffer& buffer, Tick tick) { return buffer.birth < tick; });
  Fingerprint made;
  for (auto buffer = first; buffer != trace.buffers.end() && buffer->birth < end; ++buffer) {
    if (!buffer->preexisting) made.add(buffer->rounded, buffer->stream);
  }
  return made.value();
}

void Fingerprint::add(Bytes rounded, StreamId stream) {
  hash_ = mixed_in(mixed_in(hash_, rounded.value()), stream.value());
  ++count_;
}

std::uint64_t Fingerprint::value() const { return mixed_in(hash_, count_); }

Bytes peak_live(const Trace& trace, Tick begin, Tick end) {
  struct Change {
    Tick tick;
    bool birth;  ///< deaths come first at one tick: lifetimes are half-open
    Bytes bytes;
  };
  std::vector<Change> changes;
  for (const Buffer& buffer : trace.buffers) {
    const Tick from = std::max(buffer.birth, begin);
    if (from >= end || buffer.death <= from) continue;
    changes.push_back({from, true, buffer.rounded});
    if (buffer.death < end) changes.push_back({buffer.death, false, buffer.rounded});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.tick, a.birth) < std::pair(b.tick, b.birth);
  });
  Bytes live{0};
  Bytes peak{0};
  for (const Change& change : changes) {
    live = change.birth ? live + change.bytes : live - change.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace stowage
