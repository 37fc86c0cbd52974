// Memory of a device is made again on the stream that it belongs to.
//
// What a value is made from may be freed, and reused, in the order of the stream it was made on. A
// recomputation on another stream would ignore that order. So it runs on the value's own stream, and the
// stream that asked for the value waits for it. A copy to a store or back is queued on the current device,
// which is the value's meanwhile.
//
// Thread safety: for the calling thread. Throws what the device's runtime throws.
#pragma once

#include <c10/core/Stream.h>

#include <optional>

#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

/// Its storage is used on the current stream. Memory that is used on several streams is freed and made again
/// only by code that knows how they wait for each other: such a storage is pinned.
void note_stream(StorageRecord& record);

/// While it lives, the value's device is the current one, and its stream that device's current one.
class OnOwnStream {
 public:
  /// Requires: `record` is alive.
  explicit OnOwnStream(const StorageRecord& record) : OnOwnStream(record.address->device(), record.stream) {}
  OnOwnStream(c10::Device device, std::int64_t stream);
  OnOwnStream(const OnOwnStream&) = delete;
  OnOwnStream& operator=(const OnOwnStream&) = delete;
  ~OnOwnStream();

 private:
  std::optional<c10::Device> device_before_;
  std::optional<c10::Stream> before_;  ///< where it was another one
  std::optional<c10::Stream> own_;
};

}  // namespace stowage::recompute
