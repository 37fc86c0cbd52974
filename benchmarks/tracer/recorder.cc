// What recording costs: nanoseconds per allocation and free, and per op.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "tracer/recorder/period_detector.h"
#include "tracer/recorder/recorder.h"

namespace {

using namespace stowage;
using tracer::OpRecord;
using tracer::Recorder;

const void* address_of(std::int64_t number) { return reinterpret_cast<const void*>((number + 1) * 512); }

// One allocation and one free, with `range(0)` buffers alive, first in first out as activations are.
void alloc_and_free(benchmark::State& state) {
  Recorder recorder(TraceInfo{});
  const std::int64_t live = state.range(0);
  std::int64_t next = 0;
  for (; next < live; ++next) recorder.on_alloc(address_of(next), Bytes(512), Bytes(512), StreamId(0));
  for (auto _ : state) {
    recorder.on_alloc(address_of(next % (2 * live)), Bytes(512), Bytes(512), StreamId(0));
    recorder.on_free(address_of((next - live) % (2 * live)));
    if (++next % 4096 == 0) recorder.on_mark(MarkSource::kOptimizer);
  }
}
BENCHMARK(alloc_and_free)->Arg(1000)->Arg(10000);

// One op with three inputs, one output and one allocation inside, as the observer tells it.
void op(benchmark::State& state) {
  Recorder recorder(TraceInfo{});
  for (std::int64_t i = 0; i < 4; ++i) recorder.on_alloc(address_of(i), Bytes(512), Bytes(512), StreamId(0));
  const std::array<OpRecord::Use, 3> inputs{
      {{address_of(0), 0, Bytes(512)}, {address_of(1), 0, Bytes(512)}, {address_of(2), 0, Bytes(512)}}};
  const std::array<OpRecord::Use, 1> outputs{{{address_of(4), 0, Bytes(512)}}};
  std::int64_t count = 0;
  for (auto _ : state) {
    const OpId id = recorder.on_op_begin();
    recorder.on_alloc(address_of(4), Bytes(512), Bytes(512), StreamId(0));
    recorder.on_op_end(id, {.name = "aten::addmm", .inputs = inputs, .outputs = outputs});
    recorder.on_free(address_of(4));
    if (++count % 2048 == 0) recorder.on_mark(MarkSource::kOptimizer);
  }
}
BENCHMARK(op);

// Searching for a period in a sequence that has none: the dearest case.
void period_search(benchmark::State& state) {
  tracer::PeriodDetector detector;
  std::uint64_t random = 1;
  for (auto _ : state) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    benchmark::DoNotOptimize(detector.on_alloc(Bytes((random >> 40) * 512), StreamId(0), Bytes(0)));
  }
}
BENCHMARK(period_search);

}  // namespace
