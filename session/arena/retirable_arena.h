// An arena whose memory can go back to the device before the PlannedAllocator on top of it is destroyed, and
// that the device's ledger counts.
//
// The hot path holds bare pointers to the allocator and takes no session lock, so the allocator object is
// never destroyed; only its memory goes. Requires for retire(): nothing in it is live and nothing will be
// served from it. Thread safety: as Arena's; charged() from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/arena/arena.h"
#include "allocator/arena/backend.h"
#include "session/ports/ledger.h"

namespace stowage::session {

class RetirableArena final : public allocator::Arena {
 public:
  /// `ledger` has counted `charged` bytes of it; null: nothing is counted. `page`: mapping granularity; 0:
  /// growing takes no memory.
  RetirableArena(std::unique_ptr<allocator::Arena> arena, Ledger* ledger, Bytes page, Bytes charged)
      : arena_(std::move(arena)),
        ledger_(ledger),
        base_(arena_->base()),
        reserved_(arena_->reserved()),
        page_(page),
        charged_(charged) {}

  [[nodiscard]] void* base() const noexcept override { return base_; }
  [[nodiscard]] Bytes reserved() const noexcept override { return reserved_; }
  [[nodiscard]] Bytes mapped() const noexcept override { return arena_ ? arena_->mapped() : Bytes(0); }
  [[nodiscard]] Bytes committed() const noexcept override { return arena_ ? arena_->committed() : Bytes(0); }
  [[nodiscard]] std::vector<allocator::Segment> segments() const override {
    return arena_ ? arena_->segments() : std::vector<allocator::Segment>();
  }
  Status grow(Bytes bytes) override {
    if (!arena_) return gone();
    if (page_.value() == 0) return arena_->grow(bytes);
    const Bytes before = arena_->mapped();
    const Bytes after = std::max(allocator::round_up_to(bytes, page_), before);
    const Bytes committed = arena_->committed();
    const Bytes counted = charged();
    if (!charge(counted + (after - before))) return no_room();
    Status grown = arena_->grow(bytes);
    uncharge(counted + (arena_->committed() - committed));
    return grown;
  }
  /// The same, but the ledger counts what comes on top only once it is charge()d.
  Status grow_uncounted(Bytes bytes) { return arena_ ? arena_->grow(bytes) : gone(); }
  bool decommit(std::size_t index) noexcept override {
    if (!arena_) return false;
    if (!arena_->decommit(index)) return false;
    uncharge(arena_->committed());  // the ledger may count less already: only used blocks
    return true;
  }
  Status commit(std::size_t index) override {
    if (!arena_) return gone();
    const allocator::Segment segment = arena_->segments()[index];
    if (segment.committed) return {};
    const Bytes counted = charged();
    if (!charge(counted + segment.bytes())) return no_room();
    Status committed = arena_->commit(index);
    if (!committed) uncharge(counted);
    return committed;
  }
  /// Counts bytes up to `wanted`. False: the budget has no room for them.
  [[nodiscard]] bool charge(Bytes wanted) {
    if (ledger_ == nullptr || wanted <= charged_.load()) return true;
    if (!ledger_->try_take_arena(wanted - charged_.load())) return false;
    charged_ = wanted;
    return true;
  }
  /// From now on counts at most `kept` bytes.
  void uncharge(Bytes kept) {
    if (ledger_ == nullptr || kept >= charged_.load()) return;
    ledger_->give_arena(charged_.load() - kept);
    charged_ = kept;
  }
  /// What the ledger counts for it.
  [[nodiscard]] Bytes charged() const { return charged_.load(); }
  /// Gives address range and memory back.
  void retire() {
    arena_.reset();
    uncharge(Bytes(0));
  }

 private:
  static Error gone() { return Error{ErrorCode::kOutOfMemory, "the arena was given back"}; }
  static Error no_room() {
    return Error{ErrorCode::kOutOfMemory, "a larger arena does not fit into the budget"};
  }

  std::unique_ptr<allocator::Arena> arena_;
  Ledger* ledger_;
  void* base_;
  Bytes reserved_;
  Bytes page_;
  std::atomic<Bytes> charged_;
};

}  // namespace stowage::session
