#include "plugin/cuda/arena_directory.h"

#include <utility>

#include "plugin/cuda/cuda_device.h"

namespace stowage::plugin {
namespace {

class ListedArena final : public allocator::Arena {
 public:
  ListedArena(std::unique_ptr<allocator::Arena> arena, ArenaEntry* entry)
      : arena_(std::move(arena)), entry_(entry) {}
  ~ListedArena() override { arena_directory().remove(entry_); }
  [[nodiscard]] void* base() const noexcept override { return arena_->base(); }
  [[nodiscard]] Bytes reserved() const noexcept override { return arena_->reserved(); }
  [[nodiscard]] Bytes mapped() const noexcept override { return arena_->mapped(); }
  Status grow(Bytes bytes) override {
    Status grown = arena_->grow(bytes);
    entry_->mapped.store(arena_->mapped().value(), std::memory_order_relaxed);
    if (!grown) return grown;
    return entry_->device.port.share_with_peers(*this);
  }

 private:
  std::unique_ptr<allocator::Arena> arena_;
  ArenaEntry* entry_;
};

}  // namespace

Result<ArenaEntry*> ArenaDirectory::add(CudaDevice& device, const allocator::Arena& arena) {
  const std::lock_guard lock(changing_);
  std::size_t slot = 0;
  while (slot < kCapacity && entries_[slot].load(std::memory_order_relaxed) != nullptr) ++slot;
  if (slot == kCapacity) {
    return Error{ErrorCode::kUnsupported,
                 "more than " + std::to_string(kCapacity) + " arenas in one process"};
  }
  auto* entry = new ArenaEntry(device, arena);
  entries_[slot].store(entry, std::memory_order_release);
  if (slot >= count_.load(std::memory_order_relaxed)) count_.store(slot + 1, std::memory_order_release);
  return entry;
}

void ArenaDirectory::remove(ArenaEntry* entry) {
  const std::lock_guard lock(changing_);
  for (auto& slot : entries_) {
    if (slot.load(std::memory_order_relaxed) == entry) slot.store(nullptr, std::memory_order_release);
  }
  // Another thread's find() or snapshot may be reading the entry just now, so it stays; a process maps few
  // arenas.
  entry->mapped.store(0, std::memory_order_relaxed);
}

std::vector<ArenaEntry*> ArenaDirectory::arenas_of(const CudaDevice& device) const {
  std::vector<ArenaEntry*> arenas;
  for (const auto& slot : entries_) {
    ArenaEntry* entry = slot.load(std::memory_order_acquire);
    if (entry != nullptr && &entry->device == &device) arenas.push_back(entry);
  }
  return arenas;
}

constinit ArenaDirectory the_arena_directory;

Result<std::unique_ptr<allocator::Arena>> list_arena(CudaDevice& device,
                                                     std::unique_ptr<allocator::Arena> arena) {
  Result<ArenaEntry*> entry = arena_directory().add(device, *arena);
  if (!entry) return entry.error();
  return std::unique_ptr<allocator::Arena>(std::make_unique<ListedArena>(std::move(arena), *entry));
}

}  // namespace stowage::plugin
