// Where the bytes of offloaded tensors lie: a spill file for the CPU's, pinned host memory for a CUDA
// device's.
//
// Nothing that is stored is lost: put() says that it succeeded only once the whole copy is there (on a CUDA
// device: queued, in the order of the stream that is current), and until then the caller keeps its bytes. A
// copy belongs to whoever holds it, and frees its room when it is destroyed.
//
// A store may copy beside the job's ops: begin_put() and begin_read() return at once, and finish() waits. A
// copy that is destroyed before is finished first.
//
// Thread safety: none; the runtime's lock guards stores and copies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "core/runtime/copy_lanes.h"
#include "core/units.h"

namespace stowage::recompute {

/// Bytes in a store.
class StoredCopy {
 public:
  virtual ~StoredCopy() = default;
  /// Copies them to `to`, memory of the device that they came from. It may be under way until finish():
  /// nobody uses `to`, nor frees it. Requires: nothing is under way.
  virtual Status begin_read(void* to) = 0;
  /// Waits for what was begun; on a CUDA device the current stream does. Error: kIo where the store fails, or
  /// what comes back is not what was put; they can be read again.
  virtual Status finish() = 0;
  Status read(void* to) {
    if (Status begun = begin_read(to); !begun) return begun;
    return finish();
  }
  /// False if `from`, memory of that device, is known to hold other bytes than those that were put. A store
  /// that cannot tell cheaply says true: the caller has seen all that was written there.
  [[nodiscard]] virtual bool matches(const void* from) const = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  /// Copies `bytes` from `from`, memory of the store's device. It may be under way until finish(), which then
  /// has the error: nobody writes to `from`, nor frees it. Error: kIo, kNoMemory; nothing has changed then.
  virtual Result<std::unique_ptr<StoredCopy>> begin_put(const void* from, std::uint64_t bytes) = 0;
  Result<std::unique_ptr<StoredCopy>> put(const void* from, std::uint64_t bytes) {
    Result<std::unique_ptr<StoredCopy>> copy = begin_put(from, bytes);
    if (!copy) return copy.error();
    if (Status whole = (*copy)->finish(); !whole) return whole.error();
    return copy;
  }
  /// Whether what is begun runs beside the job's ops.
  [[nodiscard]] virtual CopyLanes lanes() const { return CopyLanes::kNone; }
  /// What one copy takes, there or back, estimated; the same in each iteration.
  [[nodiscard]] virtual std::uint64_t copy_ns(std::uint64_t bytes) const = 0;
  /// Bytes of copies for which it has room at a time, a little less than the most. Unlimited: kMaxTotal.
  [[nodiscard]] virtual std::uint64_t capacity() const { return kMaxTotal.value(); }
  /// Bytes that it holds now.
  [[nodiscard]] virtual std::uint64_t held() const = 0;
  /// The process is about to be forked.
  virtual void before_fork() {}
  /// It was, and this is the parent or the child. What is stored now may be read by both, so neither
  /// overwrites it.
  virtual void after_fork(bool in_child) = 0;
};

}  // namespace stowage::recompute
