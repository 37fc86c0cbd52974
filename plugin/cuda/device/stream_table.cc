#include "plugin/cuda/device/stream_table.h"

#include "core/support/check.h"

namespace stowage::plugin {

void* StreamTable::handle_of(StreamId id) const {
  STOWAGE_CHECK(id.value() < size(), "a stream ordinal that this table never gave");
  return handles_[id.value()].load(std::memory_order_acquire);
}

StreamId StreamTable::add(std::uintptr_t key) {
  const std::lock_guard lock(adding_);
  Slot& slot = slots_[find(key)];
  if (slot.key.load(std::memory_order_relaxed) == key) return StreamId{slot.id};
  const std::uint32_t id = size_.load(std::memory_order_relaxed);
  if (id == kCapacity) return kNone;
  slot.id = id;
  handles_[id].store(reinterpret_cast<void*>(key), std::memory_order_release);
  size_.store(id + 1, std::memory_order_release);
  slot.key.store(key, std::memory_order_release);
  return StreamId{id};
}

}  // namespace stowage::plugin
