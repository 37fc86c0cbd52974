// A cache in a device's memory that moves to the host while the job's budget is short, and back when it is
// read: an example of recompute/evictable.h. The device is PyTorch's CPU, so that it runs everywhere; with a
// CUDA device only Memory differs (README.md).
//
// Thread safety: one thread at a time uses a cache; Stowage calls evict and restore from any.
#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "recompute/evictable.h"

#define STOWAGE_EXAMPLE_API extern "C" __attribute__((visibility("default")))

namespace {

// What differs between devices.
struct Memory {
  static constexpr int kDevice = static_cast<int>(c10::kCPU);
  /// From PyTorch's allocator: only such memory counts against the budget.
  static c10::DataPtr on_device(std::size_t bytes) { return c10::GetAllocator(c10::kCPU)->allocate(bytes); }
  static std::unique_ptr<void, void (*)(void*)> on_host(std::size_t bytes) {
    return {std::malloc(bytes), &std::free};
  }
  static void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

class SpillingCache {
 public:
  SpillingCache(const void* content, std::size_t bytes) : bytes_(bytes), device_(Memory::on_device(bytes)) {
    Memory::copy(device_.get(), content, bytes);
    const stowage_evictable me{bytes, Memory::kDevice, kRestoreNs, this, &evict, &restore, /*device*/ 0};
    id_ = stowage_evictable_add(&me);
  }
  ~SpillingCache() { stowage_evictable_remove(id_); }
  SpillingCache(const SpillingCache&) = delete;
  SpillingCache& operator=(const SpillingCache&) = delete;

  /// False: there is no room to bring it back.
  bool read(void* to) {
    if (stowage_evictable_use(id_) == 0) return false;
    Memory::copy(to, device_.get(), bytes_);  // here it is on the device, until done
    stowage_evictable_done(id_);
    return true;
  }
  [[nodiscard]] std::int64_t spills() const { return spills_; }

 private:
  static constexpr std::uint64_t kRestoreNs = 200'000;

  // Under Stowage's lock: no torch op, no allocation from the device's allocator.
  static int evict(void* context) {
    auto& self = *static_cast<SpillingCache*>(context);
    self.host_ = Memory::on_host(self.bytes_);
    if (self.host_ == nullptr) return 0;
    Memory::copy(self.host_.get(), self.device_.get(), self.bytes_);
    self.device_.clear();
    ++self.spills_;
    return 1;
  }

  // This one may allocate: others make room for it. What PyTorch throws when there is none must not leave.
  static int restore(void* context) try {
    auto& self = *static_cast<SpillingCache*>(context);
    self.device_ = Memory::on_device(self.bytes_);
    Memory::copy(self.device_.get(), self.host_.get(), self.bytes_);
    self.host_.reset();
    return 1;
  } catch (const std::exception&) {
    return 0;
  }

  std::size_t bytes_;
  c10::DataPtr device_;
  std::unique_ptr<void, void (*)(void*)> host_{nullptr, &std::free};
  std::int64_t id_ = -1;
  std::int64_t spills_ = 0;
};

}  // namespace

/// A cache of `bytes` bytes with that content; null where there is no memory.
STOWAGE_EXAMPLE_API void* cache_make(const void* content, std::size_t bytes) try {
  return new SpillingCache(content, bytes);
} catch (const std::exception&) {
  return nullptr;
}
/// Copies the content to `to`. 0 for success.
STOWAGE_EXAMPLE_API int cache_read(void* cache, void* to) {
  return static_cast<SpillingCache*>(cache)->read(to) ? 0 : 1;
}
/// How often it was moved to the host.
STOWAGE_EXAMPLE_API std::int64_t cache_spills(void* cache) {
  return static_cast<SpillingCache*>(cache)->spills();
}
STOWAGE_EXAMPLE_API void cache_free(void* cache) { delete static_cast<SpillingCache*>(cache); }
