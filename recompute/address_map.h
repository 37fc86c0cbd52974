// A hash table from addresses to objects, for one look-up per tensor of each op: open addressing, so that a
// look-up mostly touches one line of the cache.
//
// Thread safety: none. Invariants: at most half of the slots are in use, and no key that is in the table lies
// behind an empty slot on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/mix.h"

namespace stowage::recompute {

template <class Object>
class AddressMap {
 public:
  /// Null if there is none.
  [[nodiscard]] Object* find(const void* key) const {
    for (std::size_t at = home(key);; at = next(at)) {
      if (slots_[at].key == key) return slots_[at].object;
      if (slots_[at].key == nullptr) return nullptr;
    }
  }
  /// Requires: `key` is not null and not in the table.
  void add(const void* key, Object* object) {
    if (2 * ++used_ > slots_.size()) grow();
    put({key, object});
  }
  /// Requires: `key` is in the table.
  void remove(const void* key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key) hole = next(hole);
    // Whoever was pushed past the hole moves up.
    for (std::size_t at = next(hole); slots_[at].key != nullptr; at = next(at)) {
      const std::size_t wanted = home(slots_[at].key);
      const bool stays = hole < at ? hole < wanted && wanted <= at : wanted <= at || hole < wanted;
      if (stays) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
    --used_;
  }
  void clear() {
    slots_.assign(kLeast, {});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kLeast = 1024;  // a power of two
  struct Slot {
    const void* key = nullptr;
    Object* object = nullptr;
  };
  [[nodiscard]] std::size_t home(const void* key) const {
    return (reinterpret_cast<std::uintptr_t>(key) >> 4u) * kGoldenGamma >> 32u & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(Slot slot) {
    std::size_t at = home(slot.key);
    while (slots_[at].key != nullptr) at = next(at);
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != nullptr) put(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kLeast);
  std::size_t used_ = 0;
};

}  // namespace stowage::recompute
