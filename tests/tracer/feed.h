// Feeds a Recorder from short texts, for the tests: "aab" allocates 512, 512 and 1024 bytes, '|' is a mark.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/recorder/recorder.h"

namespace stowage::tracer::testing {

inline const void* address_of(std::uint64_t number) { return reinterpret_cast<const void*>(number * 512); }

/// A recorder and a heap of made-up addresses.
class Feed {
 public:
  explicit Feed(RecorderOptions options = {}) : recorder(TraceInfo{}, options) {}

  const void* alloc(std::uint64_t bytes, std::uint32_t stream = 0) {
    const void* address = address_of(next_++);
    recorder.on_alloc(address, Bytes(bytes), round_up(Bytes(bytes)), StreamId(stream));
    return address;
  }

  /// Each letter allocates (letter - 'a' + 1) granules and frees them; '|' marks. Returns steady() after each
  /// mark.
  std::vector<bool> play(std::string_view text) {
    std::vector<bool> steady;
    for (const char letter : text) {
      if (letter == '|') {
        recorder.on_mark(MarkSource::kOptimizer);
        steady.push_back(recorder.steady());
      } else {
        recorder.on_free(alloc(512 * static_cast<std::uint64_t>(letter - 'a' + 1)));
      }
    }
    return steady;
  }

  Recorder recorder;

 private:
  std::uint64_t next_ = 1;
};

}  // namespace stowage::tracer::testing
