#include "plugin/cuda/device/arena_directory.h"

#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "plugin/cuda/device/cuda_device.h"
#include "plugin/cuda/device/memory_history.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

class ListedArena final : public allocator::Arena {
 public:
  ListedArena(std::unique_ptr<allocator::Arena> arena, ArenaEntry* entry)
      : arena_(std::move(arena)), entry_(entry) {
    entry_->device.joint.on_arena(1, entry_->device.port.is_expandable());
    tell_from(0, true);
  }
  /// The memory fraction stops counting the memory only after the device has it back.
  ~ListedArena() override {
    tell_from(0, false);
    entry_->device.joint.on_arena(-1, entry_->device.port.is_expandable());
    arena_directory().remove(entry_);
    const Bytes held = arena_->committed();
    arena_.reset();
    fraction().give(held);
  }
  [[nodiscard]] void* base() const noexcept override { return arena_->base(); }
  [[nodiscard]] Bytes reserved() const noexcept override { return arena_->reserved(); }
  [[nodiscard]] Bytes mapped() const noexcept override { return arena_->mapped(); }
  [[nodiscard]] Bytes committed() const noexcept override { return arena_->committed(); }
  [[nodiscard]] std::vector<allocator::Segment> segments() const override { return arena_->segments(); }
  Status grow(Bytes bytes) override {
    const std::lock_guard lock(entry_->changing);
    const std::size_t before = entry_->segments.size();
    Status grown =
        within_fraction(saturating_sub(bytes, arena_->mapped()), [&] { return arena_->grow(bytes); });
    note();
    tell_from(before, true);
    return grown ? share_from(before, entry_->segments.size()) : grown;
  }
  bool decommit(std::size_t index) noexcept override {
    const std::lock_guard lock(entry_->changing);
    const bool done = arena_->decommit(index);
    if (done) fraction().give(entry_->segments[index].bytes());
    entry_->segments[index].committed &= !done;
    if (done) tell(entry_->segments[index], false);
    return done;
  }
  Status commit(std::size_t index) override {
    const std::lock_guard lock(entry_->changing);
    if (entry_->segments[index].committed) return {};
    const Bytes bytes = entry_->segments[index].bytes();
    if (Status done = within_fraction(bytes, [&] { return arena_->commit(index); }); !done) return done;
    entry_->segments[index].committed = true;
    tell(entry_->segments[index], true);
    return share_from(index, index + 1);
  }
  Status share_all() {
    const std::lock_guard lock(entry_->changing);
    return share_from(0, entry_->segments.size());
  }

 private:
  [[nodiscard]] MemoryFraction& fraction() const { return entry_->device.port.fraction(); }
  /// `bytes`: an estimate of what `work` takes from the device.
  template <class Work>
  Status within_fraction(Bytes bytes, Work work) {
    if (!fraction().take(bytes)) return MemoryFraction::no_room();
    const Bytes before = arena_->committed();
    Status done = work();
    fraction().correct(bytes, arena_->committed() - before);
    return done;
  }
  void note() {
    entry_->segments = arena_->segments();
    entry_->mapped.store(arena_->mapped().value(), std::memory_order_relaxed);
  }
  /// Reports to statistics and memory history that the memory of `segment` was mapped or unmapped.
  void tell(const allocator::Segment& segment, bool came) noexcept try {
    using Event = MemoryHistory::Event;
    const auto bytes = static_cast<std::int64_t>(segment.bytes().value());
    entry_->device.joint.on_mapped(came ? bytes : -bytes);
    const Event::Action mapped = came ? Event::SEGMENT_MAP : Event::SEGMENT_UNMAP;
    const Event::Action whole = came ? Event::SEGMENT_ALLOC : Event::SEGMENT_FREE;
    entry_->device.listener.history().on_segment(
        entry_->device.port.is_expandable() ? mapped : whole, entry_->device.index,
        static_cast<const std::byte*>(entry_->base) + segment.begin, segment.bytes());
  } catch (const std::exception& error) {
    session::note(1, std::string("a part of the arena is missing in the memory history: ") + error.what());
  }
  void tell_from(std::size_t first, bool came) {
    for (std::size_t i = first; i < entry_->segments.size(); ++i) {
      if (entry_->segments[i].committed) tell(entry_->segments[i], came);
    }
  }
  Status share_from(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (Status shared = entry_->device.port.share_with_peers(*entry_, entry_->segments[i]); !shared)
        return shared;
    }
    return {};
  }

  std::unique_ptr<allocator::Arena> arena_;
  ArenaEntry* entry_;
};

}  // namespace

std::vector<allocator::Segment> ArenaEntry::committed_runs() {
  const std::lock_guard lock(changing);
  std::vector<allocator::Segment> runs;
  for (const allocator::Segment& segment : segments) {
    if (!segment.committed) continue;
    if (!runs.empty() && runs.back().end == segment.begin) {
      runs.back().end = segment.end;
    } else {
      runs.push_back(segment);
    }
  }
  return runs;
}

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
  // Another thread's find() or snapshot may be reading the entry, so it is never freed; a process maps few
  // arenas.
  entry->mapped.store(0, std::memory_order_relaxed);
  const std::lock_guard memory(entry->changing);
  entry->segments.clear();
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
  if (!entry) {
    device.port.fraction().give(arena->committed());
    return entry.error();
  }
  auto listed = std::make_unique<ListedArena>(std::move(arena), *entry);
  if (Status shared = listed->share_all(); !shared) return shared.error();
  return std::unique_ptr<allocator::Arena>(std::move(listed));
}

}  // namespace stowage::plugin
