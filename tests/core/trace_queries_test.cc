#include <gtest/gtest.h>

#include <algorithm>

#include "core/trace.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

/// peak_live by its definition: tick by tick.
Bytes slow_peak(const Trace& trace, Tick begin, Tick end) {
  Bytes peak{0};
  for (std::uint64_t tick = begin.value(); tick < end.value(); ++tick) {
    Bytes live{0};
    for (const Buffer& buffer : trace.buffers) {
      if (buffer.birth <= Tick(tick) && Tick(tick) < buffer.death) live += buffer.rounded;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(PeakLive, EqualsItsDefinitionOnRandomTracesAndWindows) {
  testing::Random random(7);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Trace trace = testing::random_trace(seed);
    const std::uint64_t begin = random.below(trace.end.value());
    const std::uint64_t end = begin + random.below(trace.end.value() - begin + 1);
    EXPECT_EQ(peak_live(trace, Tick(0), trace.end), slow_peak(trace, Tick(0), trace.end)) << seed;
    EXPECT_EQ(peak_live(trace, Tick(begin), Tick(end)), slow_peak(trace, Tick(begin), Tick(end))) << seed;
  }
}

/// A trace whose iterations all make the same allocations, of `count` sizes each.
Trace repeated(std::uint64_t iterations, std::uint64_t count) {
  Trace trace;
  for (std::uint64_t i = 0; i < iterations * count; ++i) {
    Buffer buffer;
    buffer.rounded = Bytes(512 * (1 + i % count));
    buffer.stream = StreamId(static_cast<std::uint32_t>(i % count % 2));
    buffer.birth = Tick(i);
    trace.buffers.push_back(buffer);
  }
  trace.end = Tick(iterations * count);
  return trace;
}

TEST(Fingerprint, IsEqualForEqualWindowsWhereverTheyAre) {
  const Trace trace = repeated(3, 10);
  const std::uint64_t first = fingerprint(trace, Tick(0), Tick(10));
  EXPECT_EQ(first, fingerprint(trace, Tick(10), Tick(20)));
  EXPECT_EQ(first, fingerprint(repeated(1, 10), Tick(0), Tick(10)));
  EXPECT_NE(first, fingerprint(trace, Tick(0), Tick(9)));
  EXPECT_NE(first, fingerprint(trace, Tick(1), Tick(11)));
}

TEST(Fingerprint, IsTheSameInEveryProcessAndBuild) {
  // Plans are stored under it: a change of this number makes every stored plan useless.
  EXPECT_EQ(fingerprint(repeated(1, 10), Tick(0), Tick(10)), 10184450643800478771u);
}

TEST(Fingerprint, DependsOnSizeStreamAndOrderOnly) {
  const Trace base = repeated(1, 10);
  const auto of = [](const Trace& trace) { return fingerprint(trace, Tick(0), Tick(10)); };
  Trace other = base;
  other.buffers[4].rounded += kGranule;
  EXPECT_NE(of(base), of(other));
  other = base;
  other.buffers[4].stream = StreamId(7);
  EXPECT_NE(of(base), of(other));
  other = base;
  std::swap(other.buffers[4].rounded, other.buffers[6].rounded);
  EXPECT_NE(of(base), of(other));
  other = base;
  other.buffers[4].thread = 3;
  other.buffers[4].death = Tick(9);
  EXPECT_EQ(of(base), of(other));
}

TEST(Fingerprint, LeavesOutWhatWasAliveBefore) {
  Trace trace = repeated(1, 10);
  const std::uint64_t before = fingerprint(trace, Tick(0), Tick(10));
  Buffer old;
  old.rounded = Bytes(512);
  old.preexisting = true;
  trace.buffers.insert(trace.buffers.begin(), old);
  EXPECT_EQ(before, fingerprint(trace, Tick(0), Tick(10)));
}

}  // namespace
}  // namespace stowage
