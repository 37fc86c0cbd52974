// A Recording on no device, and iterations that are fed to it as a job's threads would.
#pragma once

#include <cstdint>
#include <vector>

#include "session/recording/recording.h"
#include "tests/session/fake_port.h"

namespace stowage::session {

struct RecordedIterations {
  /// Buffers of these sizes are allocated one after the other and freed in the same order.
  void allocate(const std::vector<std::uint64_t>& sizes) {
    tracer::Recorder* const recorder = hot.load();
    if (recorder == nullptr) return;
    std::uintptr_t address = 0x10000;
    for (const std::uint64_t size : sizes) {
      recorder->on_alloc(reinterpret_cast<void*>(address), Bytes(size), round_up(Bytes(size)), StreamId(0));
      address += 0x100000;
    }
    address = 0x10000;
    for (std::size_t i = 0; i < sizes.size(); ++i, address += 0x100000)
      recorder->on_free(reinterpret_cast<void*>(address));
  }
  /// An iteration of them.
  bool iterate(const std::vector<std::uint64_t>& sizes) {
    allocate(sizes);
    return recording.on_mark(MarkSource::kOptimizer);
  }

  TraceInfo info;
  Settings settings;
  std::atomic<tracer::Recorder*> hot{nullptr};
  FakePort port;
  Recording recording{hot, port, no_torch(), info, settings};
};

}  // namespace stowage::session
