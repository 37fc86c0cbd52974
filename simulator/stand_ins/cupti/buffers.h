// The client's buffers: one for each thread that makes records, or one for all.
//
// A buffer is requested from the client on the thread that needs it, and returned full on a worker thread, or
// at a flush on the flushing one. Thread safety: every member, from any thread; the client's functions are
// called with no lock held.
#pragma once

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "simulator/stand_ins/cupti/records.h"

namespace stowage::simulator {

class ActivityBuffers {
 public:
  void use(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed);
  void keep_per_thread(bool per_thread) { per_thread_.store(per_thread); }
  [[nodiscard]] bool per_thread() const { return per_thread_.load(); }

  /// Writes records side by side into the calling thread's buffer; those for which the client gives none are
  /// dropped and counted.
  void write(std::span<const RawRecord> records);
  /// Returns every buffer that holds records, and waits until the worker has returned the full ones.
  void flush();
  /// Records dropped since this was asked last.
  std::size_t take_dropped() { return dropped_.exchange(0); }

 private:
  struct Buffer {
    std::uint8_t* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t used = 0;
  };
  bool put(const RawRecord& record);
  void request();
  void give_to_worker(const Buffer& full);
  void work();
  void complete(const Buffer& buffer);
  [[nodiscard]] std::thread::id key() const;

  std::atomic<bool> per_thread_{true};
  std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};
  std::atomic<std::size_t> dropped_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::thread::id, Buffer> buffers_;
  std::deque<Buffer> full_;
  std::size_t returning_ = 0;
  int worker_process_ = 0;  ///< a forked child has none
};

}  // namespace stowage::simulator
