// The stores of a process, one for each type of device at most.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "recompute/stores/store.h"

namespace stowage::recompute {

class Stores {
 public:
  /// `device_type`: a c10::DeviceType, 0 CPU or 1 CUDA. Null: what is to be offloaded from there stays.
  /// Requires: nothing is stored in the one before.
  void use(int device_type, std::unique_ptr<Store> store) { at(device_type) = std::move(store); }
  /// Null: there is none.
  [[nodiscard]] Store* of(int device_type) const {
    return device_type < kTypes ? stores_[static_cast<std::size_t>(device_type)].get() : nullptr;
  }
  /// The fewest of any.
  [[nodiscard]] CopyLanes lanes() const {
    std::optional<CopyLanes> fewest;
    for (const auto& store : stores_)
      if (store != nullptr) fewest = std::min(fewest.value_or(store->lanes()), store->lanes());
    return fewest.value_or(CopyLanes::kNone);
  }
  /// The least of any.
  [[nodiscard]] std::uint64_t capacity() const {
    std::uint64_t least = kMaxTotal.value();
    for (const auto& store : stores_)
      if (store != nullptr) least = std::min(least, store->capacity());
    return least;
  }
  void before_fork() {
    for (const auto& store : stores_)
      if (store != nullptr) store->before_fork();
  }
  void after_fork(bool in_child) {
    for (const auto& store : stores_)
      if (store != nullptr) store->after_fork(in_child);
  }
  /// Why the latest copy there failed; empty: it did not.
  std::string trouble;

 private:
  static constexpr int kTypes = 2;
  std::unique_ptr<Store>& at(int device_type) { return stores_.at(static_cast<std::size_t>(device_type)); }

  std::array<std::unique_ptr<Store>, kTypes> stores_;
};

}  // namespace stowage::recompute
