// The buffers that CUPTI fills with records: a fixed number, allocated before recording begins.
//
// CUPTI asks for a buffer on a thread of the job, inside a CUDA call, and returns it full on another thread.
// So take() allocates nothing, and complete() only queues; whoever reads the records waits in next().
//
// Thread safety: every member, from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace stowage::tracer::cupti {

class BufferPool {
 public:
  /// CUPTI's requirement.
  static constexpr std::size_t kAlignment = 8;

  BufferPool(std::size_t count, std::size_t bytes);
  /// Buffers that CUPTI still has are never freed: it may write to them.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// A free buffer, or null: none is left, which is counted.
  std::byte* take() noexcept;
  /// CUPTI returned `buffer` with `valid` bytes of records. False: it is none of these.
  bool complete(std::byte* buffer, std::size_t valid) noexcept;

  struct Filled {
    std::byte* buffer = nullptr;
    std::size_t valid = 0;
  };
  /// The next buffer to read; waits for one until close(). Nothing: it was closed, and none is left.
  std::optional<Filled> next();
  /// `buffer` was read and may be taken again.
  void give_back(std::byte* buffer);
  /// Waits until all that was completed is given back, at most `wait`.
  void wait_until_read(std::chrono::milliseconds wait);
  /// next() waits no more.
  void close();

  /// Buffers that CUPTI has at the moment, and requests that got none so far.
  [[nodiscard]] std::size_t away() const;
  [[nodiscard]] std::uint64_t refused() const;

 private:
  enum class Place : std::uint8_t { kFree, kAway, kFilled };
  struct Buffer {
    std::unique_ptr<std::byte[]> memory;
    Place place = Place::kFree;
  };
  Buffer* find(const std::byte* buffer);

  const std::size_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Buffer> buffers_;
  std::deque<Filled> filled_;  ///< its capacity is kept, so that complete() allocates seldom
  std::size_t being_read_ = 0;
  std::uint64_t refused_ = 0;
  bool closed_ = false;
};

}  // namespace stowage::tracer::cupti
