// Address -> value, for what is alive: the recorder's look-up at every allocation and free, the interposer's
// for every tensor of an op.
//
// Open addressing with linear probing and backward-shift deletion (Knuth, TAOCP 3, 6.4, Algorithm R),
// Fibonacci hashing. Thread safety: none; the owner locks. Invariant: at most half of the slots are used;
// address 0 is never a key.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/support/mix.h"

namespace stowage {

template <class Value>
class AddressMap {
 public:
  AddressMap() { clear(); }

  /// The value of `address`, or null. Valid until the next insert or erase.
  Value* find(std::uintptr_t address) {
    for (std::size_t i = home(address); slots_[i].address != 0; i = (i + 1) & mask_) {
      if (slots_[i].address == address) return &slots_[i].value;
    }
    return nullptr;
  }

  /// Sets the value of `address`. Requires: address != 0.
  void insert(std::uintptr_t address, Value value) {
    if (Value* there = find(address)) {
      *there = value;
      return;
    }
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({address, value});
    ++size_;
  }

  /// Takes `address` out; false when it is not there.
  bool erase(std::uintptr_t address) {
    std::size_t hole = home(address);
    while (slots_[hole].address != address) {
      if (slots_[hole].address == 0) return false;
      hole = (hole + 1) & mask_;
    }
    close_gap(hole);
    --size_;
    return true;
  }

  void clear() {
    reset(kLeast);
    size_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls visit(address, value) for every entry, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.address != 0) visit(slot.address, slot.value);
    }
  }

 private:
  static constexpr std::size_t kLeast = 1024;  // slots; a power of two
  struct Slot {
    std::uintptr_t address = 0;
    Value value{};
  };

  std::size_t home(std::uintptr_t address) const { return (address * kGoldenGamma) >> shift_; }

  void reset(std::size_t capacity) {
    slots_.assign(capacity, Slot{});
    mask_ = capacity - 1;
    shift_ = 64 - std::countr_zero(capacity);
  }

  void place(Slot slot) {
    std::size_t i = home(slot.address);
    while (slots_[i].address != 0) i = (i + 1) & mask_;
    slots_[i] = slot;
  }

  void grow() {
    std::vector<Slot> old;
    old.swap(slots_);
    reset(2 * old.size());
    for (const Slot& slot : old) {
      if (slot.address != 0) place(slot);
    }
  }

  // Moves later entries of the probe run back, so that no look-up stops at the hole too early.
  void close_gap(std::size_t hole) {
    for (std::size_t i = (hole + 1) & mask_; slots_[i].address != 0; i = (i + 1) & mask_) {
      const std::size_t wanted = home(slots_[i].address);
      if (((i - wanted) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Slot{};
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::size_t size_ = 0;
};

}  // namespace stowage
