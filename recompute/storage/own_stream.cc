#include "recompute/storage/own_stream.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>

namespace stowage::recompute {

void note_stream(StorageRecord& record) {
  const c10::Device device = record.address->device();
  if (device.is_cpu()) return;
  const std::int64_t stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).id();
  if (record.stream < 0) record.stream = stream;
  if (record.stream != stream) record.pinned = true;
}

OnOwnStream::OnOwnStream(c10::Device device, std::int64_t stream) {
  if (device.is_cpu() || stream < 0) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  device_before_ = guard.exchangeDevice(device);
  const c10::Stream present = guard.getStream(device);
  if (present.id() == stream) return;
  own_.emplace(c10::Stream::UNSAFE, device, stream);
  before_ = present;
  guard.exchangeStream(*own_);
}

OnOwnStream::~OnOwnStream() {
  if (!device_before_) return;
  const c10::impl::VirtualGuardImpl guard(device_before_->type());
  if (before_) {
    try {
      c10::Event made(before_->device_type());
      made.record(*own_);
      made.block(*before_);
    } catch (const std::exception&) {  // the device failed; the next wait will say so
    }
    guard.exchangeStream(*before_);
  }
  guard.uncheckedSetDevice(*device_before_);
}

}  // namespace stowage::recompute
