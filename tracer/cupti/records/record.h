// One record of CUPTI's activity API, as far as Stowage uses it, in the same form for every version of CUPTI.
//
// Plain data. Times are in CUPTI's own clock (cupti/times/clock_pairs.h); names are indices into the NameBook
// of whoever read the record.
#pragma once

#include <cstdint>

namespace stowage::tracer::cupti {

/// CUpti_ActivityKind, of the records that are read.
enum class RecordKind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriverCall = 4,
  kRuntimeCall = 5,
  kKernel = 10,  ///< CONCURRENT_KERNEL; kind 3 would serialise the GPU
  kOverhead = 17,
  kMemcpyPeer = 22,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kMemoryOperation = 49,
  kMemoryPool = 50,
};

/// CUpti_ExternalCorrelationKind. The profiler of PyTorch uses the first two custom kinds (3 and 4).
inline constexpr std::uint32_t kOurExternalKind = 5;

struct Record {
  RecordKind kind{};
  std::uint32_t correlation = 0;  ///< of the API call that caused it; 0: none
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< 0: it had not ended when it was delivered
  std::uint64_t value =
      0;  ///< bytes of copies, fills and memory operations; the id of an external correlation
  std::uint32_t name = 0;    ///< of kernels and calls
  std::uint32_t device = 0;  ///< of GPU work and memory operations
  std::uint32_t stream = 0;  ///< of GPU work and synchronisations, as CUPTI numbers streams
  std::uint32_t thread = 0;  ///< of calls
  std::uint32_t detail = 0;  ///< copy kind, synchronisation type, kind of operation, external kind, or cbid
  std::uint32_t graph_node = 0;  ///< low half of the node's id if a graph launched it; else 0

  /// It occupied the GPU.
  [[nodiscard]] bool is_gpu_work() const {
    return kind == RecordKind::kKernel || kind == RecordKind::kMemcpy || kind == RecordKind::kMemset ||
           kind == RecordKind::kMemcpyPeer;
  }
  [[nodiscard]] bool is_call() const {
    return kind == RecordKind::kRuntimeCall || kind == RecordKind::kDriverCall;
  }
  [[nodiscard]] bool is_copy() const { return is_gpu_work() && kind != RecordKind::kKernel; }
};

}  // namespace stowage::tracer::cupti
