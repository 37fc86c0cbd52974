// Address -> number, for the buffers that are alive: the one look-up on the recorder's path of every
// allocation and free.
//
// Open addressing with linear probing and backward-shift deletion (Knuth, TAOCP 3, 6.4, Algorithm R),
// Fibonacci hashing. Thread safety: none; the owner locks. Invariant: at most half of the slots are used;
// address 0 is never a key.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::tracer {

class AddressMap {
 public:
  AddressMap() { reset(1024); }

  /// The number of `address`, or null. Valid until the next insert or erase.
  std::uint64_t* find(std::uintptr_t address) {
    for (std::size_t i = home(address); slots_[i].address != 0; i = (i + 1) & mask_) {
      if (slots_[i].address == address) return &slots_[i].number;
    }
    return nullptr;
  }

  /// Sets the number of `address`. Requires: address != 0.
  void insert(std::uintptr_t address, std::uint64_t number) {
    if (std::uint64_t* there = find(address)) {
      *there = number;
      return;
    }
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({address, number});
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

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls visit(address, number) for every entry, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.address != 0) visit(slot.address, slot.number);
    }
  }

 private:
  struct Slot {
    std::uintptr_t address = 0;
    std::uint64_t number = 0;
  };

  std::size_t home(std::uintptr_t address) const { return (address * 0x9E3779B97F4A7C15ull) >> shift_; }

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

}  // namespace stowage::tracer
