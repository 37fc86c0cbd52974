// An arena whose memory can go back to the device before the PlannedAllocator on top of it is destroyed.
//
// The hot path holds bare pointers to the allocator and takes no lock of the session's, so the allocator
// object is kept for good; its memory is what counts. Requires for retire(): nothing in it is live and
// nothing will be served from it.
#pragma once

#include <memory>
#include <utility>

#include "allocator/arena.h"

namespace stowage::plugin {

class RetirableArena final : public allocator::Arena {
 public:
  explicit RetirableArena(std::unique_ptr<allocator::Arena> arena)
      : arena_(std::move(arena)), base_(arena_->base()), reserved_(arena_->reserved()) {}

  [[nodiscard]] void* base() const noexcept override { return base_; }
  [[nodiscard]] Bytes reserved() const noexcept override { return reserved_; }
  [[nodiscard]] Bytes mapped() const noexcept override { return arena_ ? arena_->mapped() : Bytes(0); }
  Status grow(Bytes bytes) override {
    if (!arena_) return Error{ErrorCode::kOutOfMemory, "the arena was given back"};
    return arena_->grow(bytes);
  }
  /// Gives address range and memory back.
  void retire() { arena_.reset(); }

 private:
  std::unique_ptr<allocator::Arena> arena_;
  void* base_;
  Bytes reserved_;
};

}  // namespace stowage::plugin
