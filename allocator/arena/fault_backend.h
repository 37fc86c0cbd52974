// Backends for tests: one that fails on demand over any other, and one whose addresses have no memory.
//
// Thread safety: as Backend. The switch is read and set by one thread at a time too.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/arena/backend.h"

namespace stowage::allocator {

/// When a FaultBackend fails; shared with the test that sets it. Nothing fails as it is made.
struct FaultSwitch {
  static constexpr std::uint64_t kNeverFail = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t reserves_left = kNeverFail;  ///< this many reserve() calls succeed, later ones fail
  std::uint64_t maps_left = kNeverFail;      ///< this many map() calls succeed, later ones fail
  Bytes map_limit = Bytes::max();            ///< map() fails where more than this would be mapped
  Bytes mapped{0};                           ///< mapped now
};

/// Any backend, failing as its switch says with kOutOfMemory, as a full device does.
template <Backend B>
class FaultBackend {
 public:
  static constexpr bool kGrows = B::kGrows;

  FaultBackend(B under, std::shared_ptr<FaultSwitch> faults)
      : under_(std::move(under)), faults_(std::move(faults)) {}

  Result<AddressRange> reserve(Bytes bytes) {
    if (!take(faults_->reserves_left)) return refusal("reserve");
    return under_.reserve(bytes);
  }
  void release(AddressRange range) noexcept { under_.release(range); }
  Status map(AddressRange part) {
    if (part.bytes > faults_->map_limit || faults_->mapped > faults_->map_limit - part.bytes)
      return refusal("map");
    if (!take(faults_->maps_left)) return refusal("map");
    Status mapped = under_.map(part);
    if (mapped.ok()) faults_->mapped += part.bytes;
    return mapped;
  }
  void unmap(AddressRange part) noexcept {
    under_.unmap(part);
    faults_->mapped -= part.bytes;
  }
  [[nodiscard]] Bytes granularity() const { return under_.granularity(); }
  [[nodiscard]] Result<MemoryInfo> memory() const { return under_.memory(); }

 private:
  static bool take(std::uint64_t& left) {
    if (left == 0) return false;
    if (left != FaultSwitch::kNeverFail) --left;
    return true;
  }
  static Error refusal(const char* call) {
    return Error{ErrorCode::kOutOfMemory, std::string("injected fault: ") + call + " was told to fail"};
  }

  B under_;
  std::shared_ptr<FaultSwitch> faults_;
};

/// Addresses without memory, of a device of any size: for allocator tests that look at addresses only.
/// Reading or writing them is a segmentation fault (they are not canonical on today's processors). Breaking
/// the backend contract ends the process: this is also the backend that checks its callers.
class FakeAddressBackend {
 public:
  static constexpr bool kGrows = true;
  static constexpr Bytes kGranularity{2u << 20};

  explicit FakeAddressBackend(Bytes total = Bytes(std::uint64_t{1} << 40)) : total_(total) {}

  Result<AddressRange> reserve(Bytes bytes) {
    STOWAGE_CHECK(is_whole(bytes.value()), "reserve() of a part of the granularity");
    reserved_ = {reinterpret_cast<char*>(kFirstAddress), bytes};
    return reserved_;
  }
  void release(AddressRange range) noexcept {
    STOWAGE_CHECK(range.base == reserved_.base && range.bytes == reserved_.bytes,
                  "release() of another range");
    STOWAGE_CHECK(parts_.empty(), "release() while memory is mapped");
  }
  Status map(AddressRange part) {
    check_part(part);
    if (part.bytes > total_ - used_) {
      return Error{ErrorCode::kOutOfMemory, "the fake device has no memory left: ask for less"};
    }
    parts_.push_back(part);
    used_ += part.bytes;
    return {};
  }
  void unmap(AddressRange part) noexcept {
    for (auto it = parts_.begin(); it != parts_.end(); ++it) {
      if (it->base != part.base || it->bytes != part.bytes) continue;
      parts_.erase(it);
      used_ -= part.bytes;
      return;
    }
    STOWAGE_CHECK(false, "unmap() of what map() did not make");
  }
  [[nodiscard]] Bytes granularity() const { return kGranularity; }
  [[nodiscard]] Result<MemoryInfo> memory() const { return MemoryInfo{total_ - used_, total_}; }

 private:
  static constexpr std::uintptr_t kFirstAddress = 0x5700'0000'0000'0000;

  static bool is_whole(std::uint64_t value) { return value % kGranularity.value() == 0 && value > 0; }
  void check_part(AddressRange part) const {
    const auto begin = static_cast<std::uint64_t>(part.base - reserved_.base);
    STOWAGE_CHECK(is_whole(part.bytes.value()) && begin % kGranularity.value() == 0,
                  "map() off the granularity");
    STOWAGE_CHECK(begin + part.bytes.value() <= reserved_.bytes.value(), "map() outside the reserved range");
    for (const AddressRange& other : parts_) {
      const bool apart =
          part.base + part.bytes.value() <= other.base || other.base + other.bytes.value() <= part.base;
      STOWAGE_CHECK(apart, "map() of what is mapped");
    }
  }

  Bytes total_;
  Bytes used_{0};
  AddressRange reserved_;
  std::vector<AddressRange> parts_;
};

static_assert(Backend<FakeAddressBackend> && Backend<FaultBackend<FakeAddressBackend>>);

}  // namespace stowage::allocator
