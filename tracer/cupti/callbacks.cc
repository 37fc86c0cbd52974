#include "tracer/cupti/callbacks.h"

#include <mutex>
#include <string>
#include <utility>

namespace stowage::tracer::cupti {
namespace {

// CUPTI's API versions: those whose records are known. 12.6 has 24; from CUDA 13 on it is
// 10,000 × major + 100 × minor + ….
constexpr std::uint32_t kFirstKnown = 24;
constexpr std::uint32_t kLastOfCuda12 = 99;
constexpr std::uint32_t kCuda13 = 130'000;
constexpr std::uint32_t kCuda14 = 140'000;
// Before this one CUPTI crashes where a request for a buffer is declined.
constexpr std::uint32_t kMayDecline = 27;

struct Served {
  std::mutex mutex;
  std::shared_ptr<BufferPool> pool;
  std::uint32_t version = 0;
};

Served& served() {
  static auto* const instance = new Served;  // CUPTI may call at exit
  return *instance;
}

std::shared_ptr<BufferPool> present_pool() {
  const std::lock_guard lock(served().mutex);
  return served().pool;
}

// Small, and never read.
std::byte* spare_buffer(std::size_t& bytes) {
  constexpr std::size_t kBytes = 64 << 10;
  bytes = kBytes;
  return new std::byte[kBytes];
}

void on_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  const std::shared_ptr<BufferPool> pool = present_pool();
  std::byte* taken = pool != nullptr ? pool->take() : nullptr;
  *bytes = taken != nullptr ? pool->bytes() : 0;
  *max_records = 0;  // as many as fit
  if (taken == nullptr && served().version < kMayDecline) taken = spare_buffer(*bytes);
  *buffer = reinterpret_cast<std::uint8_t*>(taken);
}

// What another client or a former pool had given out is not ours to free.
void on_completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (const std::shared_ptr<BufferPool> pool = present_pool())
    static_cast<void>(pool->complete(reinterpret_cast<std::byte*>(buffer), valid));
}

bool is_known(std::uint32_t version) {
  return (version >= kFirstKnown && version <= kLastOfCuda12) || (version >= kCuda13 && version < kCuda14);
}

}  // namespace

Status serve_buffers(const Library& library, std::shared_ptr<BufferPool> pool) {
  std::uint32_t version = 0;
  if (const CuptiResult answer = library.get_version(&version); answer != kSuccess)
    return Error{ErrorCode::kUnsupported, library.describe("cuptiGetVersion", answer)};
  if (!is_known(version))
    return Error{ErrorCode::kUnsupported, "CUPTI's version " + std::to_string(version) + " is not known"};
  {
    const std::lock_guard lock(served().mutex);
    served().pool = std::move(pool);
    served().version = version;
  }
  if (const CuptiResult answer = library.register_callbacks(&on_requested, &on_completed); answer != kSuccess)
    return Error{ErrorCode::kUnsupported, library.describe("cuptiActivityRegisterCallbacks", answer)};
  return {};
}

void serve_no_buffers(const std::shared_ptr<BufferPool>& pool) {
  const std::lock_guard lock(served().mutex);
  if (served().pool == pool) served().pool = nullptr;
}

}  // namespace stowage::tracer::cupti
