// Whether a job has nearly filled its device, so that a budget of "auto" should take effect.
//
// Counts what upstream has given out, and says now and then that it is time to ask the device. Near is three
// eighths of what the job can get there: what it makes before is never recomputed, and takes host memory
// where it is offloaded, and gradients may take as much again before ops can be seen. After the job has shown
// that it fits, near is halfway from its peak to the limit. Thread safety: every member, from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/units.h"

namespace stowage::session {

class DeviceWatch {
 public:
  /// Upstream gave out `bytes`. True: look at the device. The first time, and then whenever it gave out a
  /// 64th of what the job can get.
  bool on_alloc(Bytes bytes) noexcept {
    const std::uint64_t given = given_.fetch_add(bytes.value(), std::memory_order_relaxed) + bytes.value();
    if (given < stride_.load(std::memory_order_relaxed)) return false;
    given_.store(0, std::memory_order_relaxed);
    return true;
  }
  /// The job holds `held` bytes, and the device has `free` more: what it may hold at most. The rest is for
  /// what libraries take without PyTorch.
  [[nodiscard]] static Bytes limit_of(Bytes held, Bytes free) noexcept {
    const Bytes whole = held + free;
    return whole - Bytes(whole.value() / kLeftToLibraries);
  }
  /// What a look at the device showed.
  [[nodiscard]] bool is_near(Bytes held, Bytes free) noexcept {
    const Bytes limit = limit_of(held, free);
    stride_.store(limit.value() / kLooks, std::memory_order_relaxed);
    const std::uint64_t fitting = fitting_.load(std::memory_order_relaxed);
    return held.value() > (fitting == 0 ? limit.value() * kFirstNear / 8 : (fitting + limit.value()) / 2);
  }
  /// Whole iterations fitted, and held `peak` at most.
  void note_fitting(Bytes peak) noexcept { fitting_.store(peak.value(), std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kLooks = 64;            // while the device fills up once
  static constexpr std::uint64_t kFirstNear = 3;         // eighths of what the job can get
  static constexpr std::uint64_t kLeftToLibraries = 64;  // one of so many parts

  std::atomic<std::uint64_t> stride_{0};   ///< bytes from one look to the next
  std::atomic<std::uint64_t> given_{0};    ///< bytes since the last look
  std::atomic<std::uint64_t> fitting_{0};  ///< see note_fitting()
};

}  // namespace stowage::session
