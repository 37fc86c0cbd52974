// The offsets at which records are read, against the structs of the CUPTI headers that are installed.
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "tracer/cupti/records/record.h"
#include "tracer/cupti/records/record_reader.h"

namespace stowage::tracer::cupti {
namespace {

#if CUPTI_API_VERSION >= 130202
using Kernel = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
#else
using Kernel = CUpti_ActivityKernel9;
#endif

static_assert(offsetof(Kernel, start) == 16 && offsetof(Kernel, end) == 24 &&
              offsetof(Kernel, deviceId) == 40 && offsetof(Kernel, streamId) == 48 &&
              offsetof(Kernel, correlationId) == 92 && offsetof(Kernel, name) == 104 &&
              offsetof(Kernel, graphNodeId) == 144);
static_assert(offsetof(CUpti_ActivityAPI, cbid) == 4 && offsetof(CUpti_ActivityAPI, start) == 8 &&
              offsetof(CUpti_ActivityAPI, end) == 16 && offsetof(CUpti_ActivityAPI, threadId) == 28 &&
              offsetof(CUpti_ActivityAPI, correlationId) == 32);
static_assert(offsetof(CUpti_ActivityExternalCorrelation, externalKind) == 4 &&
              offsetof(CUpti_ActivityExternalCorrelation, externalId) == 8 &&
              offsetof(CUpti_ActivityExternalCorrelation, correlationId) == 16);
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == static_cast<int>(RecordKind::kKernel) &&
              CUPTI_ACTIVITY_KIND_MEMCPY == static_cast<int>(RecordKind::kMemcpy) &&
              CUPTI_ACTIVITY_KIND_MEMSET == static_cast<int>(RecordKind::kMemset) &&
              CUPTI_ACTIVITY_KIND_MEMCPY2 == static_cast<int>(RecordKind::kMemcpyPeer) &&
              CUPTI_ACTIVITY_KIND_RUNTIME == static_cast<int>(RecordKind::kRuntimeCall) &&
              CUPTI_ACTIVITY_KIND_DRIVER == static_cast<int>(RecordKind::kDriverCall) &&
              CUPTI_ACTIVITY_KIND_OVERHEAD == static_cast<int>(RecordKind::kOverhead) &&
              CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == static_cast<int>(RecordKind::kSynchronization) &&
              CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION ==
                  static_cast<int>(RecordKind::kExternalCorrelation) &&
              CUPTI_ACTIVITY_KIND_MEMORY2 == static_cast<int>(RecordKind::kMemoryOperation) &&
              CUPTI_ACTIVITY_KIND_MEMORY_POOL == static_cast<int>(RecordKind::kMemoryPool) &&
              CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 == kOurExternalKind);
static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == kMaxLimitReached && CUPTI_SUCCESS == kSuccess);

// The same fields by name, whatever newest struct a kind has here: written by CUPTI's struct, read by ours.
template <class Struct>
Record read(const Struct& filled) {
  Library library;
  NameBook names;
  Record record;
  EXPECT_TRUE(read_record(reinterpret_cast<const std::byte*>(&filled), library, names, record));
  return record;
}

TEST(CuptiLayout, CopiesFillsWaitsAndMemoryReadAsCuptiWritesThem) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 11, copy.start = 12, copy.end = 13, copy.deviceId = 14, copy.streamId = 15,
  copy.correlationId = 16;
  EXPECT_EQ(read(copy).value, 11u);
  EXPECT_EQ(read(copy).begin, 12u);
  EXPECT_EQ(read(copy).end, 13u);
  EXPECT_EQ(read(copy).device, 14u);
  EXPECT_EQ(read(copy).stream, 15u);
  EXPECT_EQ(read(copy).correlation, 16u);
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.correlationId = 17;
  EXPECT_EQ(read(peer).correlation, 17u);
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 18, fill.streamId = 19, fill.correlationId = 20;
  EXPECT_EQ(read(fill).value, 18u);
  EXPECT_EQ(read(fill).stream, 19u);
  EXPECT_EQ(read(fill).correlation, 20u);
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.start = 21, wait.end = 22, wait.correlationId = 23, wait.streamId = 24;
  EXPECT_EQ(read(wait).begin, 21u);
  EXPECT_EQ(read(wait).end, 22u);
  EXPECT_EQ(read(wait).correlation, 23u);
  EXPECT_EQ(read(wait).stream, 24u);
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.bytes = 25, memory.timestamp = 26, memory.correlationId = 27, memory.deviceId = 28;
  EXPECT_EQ(read(memory).value, 25u);
  EXPECT_EQ(read(memory).begin, 26u);
  EXPECT_EQ(read(memory).correlation, 27u);
  EXPECT_EQ(read(memory).device, 28u);
  CUpti_ActivityMemoryPool2 pool{};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.correlationId = 29;
  EXPECT_EQ(read(pool).correlation, 29u);
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.start = 30, overhead.end = 31;
  EXPECT_EQ(read(overhead).begin, 30u);
  EXPECT_EQ(read(overhead).end, 31u);
}

}  // namespace
}  // namespace stowage::tracer::cupti
