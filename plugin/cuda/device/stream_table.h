// CUDA stream handles of one device ↔ ordinals (StreamId), since handles mean nothing in a trace or a plan.
//
// The default stream is 0; others count up in order of first use, so the same job gets the same ordinals.
// Thread safety: every member, from any thread; looking up a known handle takes no lock.
// Invariant: a handle keeps its ordinal for the life of the table.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/units.h"

namespace stowage::plugin {

class StreamTable {
 public:
  /// Streams beyond this many get no ordinal. PyTorch itself makes at most about 130 per device.
  static constexpr std::uint32_t kCapacity = 1024;

  StreamTable() = default;
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  /// What ordinal_of() returns for a stream that has none.
  static constexpr StreamId kNone{~std::uint32_t{0}};

  /// The ordinal of `handle` (a cudaStream_t), given now if it is new; kNone once kCapacity are known. Fits
  /// one register for the hot path: an optional would go through memory, which costs as much as a lock.
  StreamId ordinal_of(const void* handle) {
    if (handle == nullptr) return StreamId{0};
    const auto key = reinterpret_cast<std::uintptr_t>(handle);
    const std::uint32_t slot = find(key);
    if (slots_[slot].key.load(std::memory_order_acquire) == key) return StreamId{slots_[slot].id};
    return add(key);
  }
  /// The same; nothing where there is no ordinal.
  std::optional<StreamId> id_of(const void* handle) {
    const StreamId id = ordinal_of(handle);
    return id == kNone ? std::nullopt : std::optional(id);
  }
  /// The handle that has ordinal `id`. Requires: id < size().
  [[nodiscard]] void* handle_of(StreamId id) const;
  /// Number of ordinals given, the default stream's included.
  [[nodiscard]] std::uint32_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t kSlots = 2 * kCapacity;  ///< at most half full, so that probing ends soon
  struct Slot {
    std::atomic<std::uintptr_t> key{0};
    std::uint32_t id = 0;  ///< written before key is published
  };

  /// The slot that holds `key`, or the free one where it would go.
  [[nodiscard]] std::uint32_t find(std::uintptr_t key) const {
    auto slot = static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15u) >> 32) % kSlots;
    for (;; slot = (slot + 1) % kSlots) {
      const std::uintptr_t held = slots_[slot].key.load(std::memory_order_acquire);
      if (held == key || held == 0) return slot;
    }
  }
  StreamId add(std::uintptr_t key);

  std::mutex adding_;
  std::array<Slot, kSlots> slots_{};
  std::array<std::atomic<void*>, kCapacity> handles_{};
  std::atomic<std::uint32_t> size_{1};
};

}  // namespace stowage::plugin
