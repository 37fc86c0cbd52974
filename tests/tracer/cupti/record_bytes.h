// CUPTI's records as bytes, built by hand at the offsets that all known versions share. Sizes are those of
// CUDA 13.0 where a test does not say otherwise; the rest of a record is filled with a pattern, so that a
// reader that looks elsewhere is found out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tracer/cupti/records/record.h"

namespace stowage::tracer::cupti::testing {

using Bytes = std::vector<std::byte>;

class RecordBytes {
 public:
  RecordBytes(RecordKind kind, std::size_t size) : bytes_(size, std::byte{0xa5}) {
    put(0, static_cast<std::uint32_t>(kind));
  }
  template <class Field>
  RecordBytes& put(std::size_t offset, Field value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  operator Bytes() const { return bytes_; }  // NOLINT(google-explicit-constructor)

 private:
  Bytes bytes_;
};

struct Work {
  std::uint32_t correlation = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t stream = 7;
  std::uint32_t device = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kKernelSizes[] = {208, 216, 224, 248};  // CUDA 12.8, 13.0, 13.2, 13.5

inline Bytes kernel(const Work& work, const char* name = "a_kernel", std::size_t size = 216,
                    std::uint64_t graph_node = 0) {
  return RecordBytes(RecordKind::kKernel, size)
      .put(16, work.begin)
      .put(24, work.end)
      .put(40, work.device)
      .put(48, work.stream)
      .put(92, work.correlation)
      .put(104, name)
      .put(144, graph_node);
}

inline Bytes copy(const Work& work, RecordKind kind = RecordKind::kMemcpy) {
  const std::size_t correlation_at = kind == RecordKind::kMemcpyPeer ? 60 : 44;
  return RecordBytes(kind, 96)
      .put(4, std::uint8_t{1})
      .put(8, work.bytes)
      .put(16, work.begin)
      .put(24, work.end)
      .put(32, work.device)
      .put(40, work.stream)
      .put(correlation_at, work.correlation);
}

inline constexpr std::uint32_t kLaunchKernel = 211;

inline Bytes call(std::uint32_t correlation, std::uint32_t cbid = kLaunchKernel,
                  RecordKind kind = RecordKind::kRuntimeCall) {
  return RecordBytes(kind, 40)
      .put(4, cbid)
      .put(8, std::uint64_t{1})
      .put(16, std::uint64_t{2})
      .put(28, std::uint32_t{99})
      .put(32, correlation);
}

inline Bytes external(std::uint32_t correlation, std::uint64_t id, std::uint32_t kind = kOurExternalKind) {
  return RecordBytes(RecordKind::kExternalCorrelation, 24).put(4, kind).put(8, id).put(16, correlation);
}

inline Bytes synchronization(std::uint32_t correlation, std::uint64_t begin, std::uint64_t end) {
  return RecordBytes(RecordKind::kSynchronization, 56)
      .put(4, std::uint32_t{3})
      .put(8, begin)
      .put(16, end)
      .put(24, correlation)
      .put(32, std::uint32_t{7});
}

inline Bytes memory_operation(std::uint32_t correlation, std::uint64_t bytes, std::uint64_t at) {
  return RecordBytes(RecordKind::kMemoryOperation, 128)
      .put(4, std::uint32_t{1})
      .put(12, correlation)
      .put(24, bytes)
      .put(32, at)
      .put(52, std::uint32_t{0})
      .put(60, std::uint32_t{7});
}

}  // namespace stowage::tracer::cupti::testing
