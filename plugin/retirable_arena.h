// An arena whose memory can go back to the device before the PlannedAllocator on top of it is destroyed, and
// that stands in the device's ledger.
//
// The hot path holds bare pointers to the allocator and takes no lock of the session's, so the allocator
// object is kept for good; its memory is what counts. Requires for retire(): nothing in it is live and
// nothing will be served from it. Thread safety: as Arena's; charged() from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "allocator/arena.h"
#include "allocator/backend.h"
#include "plugin/budget/ledger.h"

namespace stowage::plugin {

class RetirableArena final : public allocator::Arena {
 public:
  /// `ledger` has counted `charged` bytes of it; null: nobody counts. `page`: what memory is mapped in.
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
  Status grow(Bytes bytes) override {
    if (!arena_) return Error{ErrorCode::kOutOfMemory, "the arena was given back"};
    if (!charge(allocator::round_up_to(bytes, page_)))
      return Error{ErrorCode::kOutOfMemory, "the budget has no room for a larger arena"};
    Status grown = arena_->grow(bytes);
    uncharge(arena_->mapped());
    return grown;
  }
  /// Counts bytes up to `wanted`. False: the budget has no room for them.
  [[nodiscard]] bool charge(Bytes wanted) {
    if (ledger_ == nullptr || wanted <= charged_.load()) return true;
    if (!ledger_->try_take_arena(wanted - charged_.load())) return false;
    charged_ = wanted;
    return true;
  }
  /// Counts no more than `kept` bytes from now on.
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
  std::unique_ptr<allocator::Arena> arena_;
  Ledger* ledger_;
  void* base_;
  Bytes reserved_;
  Bytes page_;
  std::atomic<Bytes> charged_;
};

}  // namespace stowage::plugin
