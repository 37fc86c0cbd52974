#include "allocator/online/online_pool.h"

#include <utility>

#include "core/support/check.h"

namespace stowage::allocator {

OnlineBlock* OnlinePool::new_block() {
  if (unused_ == nullptr) {
    blocks_.emplace_back().pool = this;
    unused_ = &blocks_.back();
  }
  OnlineBlock* const block = unused_;
  unused_ = std::exchange(block->after, nullptr);
  return block;
}

// A node is made by listing what is no block.
void OnlinePool::store_node() {
  if (nodes_.capacity() <= node_count_) nodes_.reserve(2 * node_count_ + 16);
  const auto made = sizes_.insert(OnlineSize{}).first;
  nodes_.push_back(sizes_.extract(made));
  ++node_count_;
}

void OnlinePool::prepare() {
  if (unused_ == nullptr) drop(*new_block());
  while (nodes_.size() <= taken_ + 1) store_node();
}

void OnlinePool::drop(OnlineBlock& block) noexcept {
  block.owner = Owner{};
  block.after = std::exchange(unused_, &block);
}

void OnlinePool::list(OnlineBlock& block) noexcept {
  if (&block == last_) return;
  STOWAGE_CHECK(!nodes_.empty(), "a pool has no node for what is free");
  Sizes::node_type node = std::move(nodes_.back());
  nodes_.pop_back();
  node.value() = {block.bytes(), block.begin(), &block};
  block.listed = sizes_.insert(std::move(node)).position;
}

void OnlinePool::unlist(OnlineBlock& block) noexcept {
  if (&block == last_) return;
  nodes_.push_back(sizes_.extract(block.listed));  // its capacity is that of all nodes
}

void OnlinePool::append(OnlineBlock& block) noexcept {
  block.before = std::exchange(last_, &block);
  block.after = nullptr;
  (block.before == nullptr ? first_ : block.before->after) = &block;
}

void OnlinePool::add(std::uint64_t begin, std::uint64_t end) {
  STOWAGE_CHECK(begin < end && (last_ == nullptr || begin >= last_->end), "addresses are added upwards");
  prepare();
  bytes_ += end - begin;
  OnlineBlock* const before = tail();
  if (before != nullptr && before->end == begin) {
    before->end = end;
    return;
  }
  OnlineBlock& block = *new_block();
  block.owner.offset = begin;
  block.end = end;
  append(block);
  if (before != nullptr) list(*before);
}

OnlineBlock& OnlinePool::take(OnlineBlock& hole, std::uint64_t bytes) noexcept {
  unlist(hole);
  ++taken_;
  if (hole.bytes() == bytes) return hole;
  OnlineBlock& rest = *new_block();
  rest.owner.offset = hole.begin() + bytes;
  rest.end = hole.end;
  hole.end = rest.begin();
  rest.before = &hole;
  rest.after = std::exchange(hole.after, &rest);
  (rest.after == nullptr ? last_ : rest.after->before) = &rest;
  list(rest);
  return hole;
}

void OnlinePool::give(OnlineBlock& block) noexcept {
  --taken_;
  if (OnlineBlock* const after = block.after;
      after != nullptr && after->is_free() && after->begin() == block.end) {
    unlist(*after);
    block.end = after->end;
    block.after = after->after;
    (block.after == nullptr ? last_ : block.after->before) = &block;
    drop(*after);
  }
  OnlineBlock* const before = block.before;
  if (before == nullptr || !before->is_free() || before->end != block.begin()) return list(block);
  unlist(*before);
  before->end = block.end;
  before->after = block.after;
  (before->after == nullptr ? last_ : before->after->before) = before;
  drop(block);
  list(*before);
}

}  // namespace stowage::allocator
