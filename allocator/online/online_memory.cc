#include "allocator/online/online_memory.h"

#include <algorithm>
#include <utility>

namespace stowage::allocator {

void OnlineMemory::look() {
  std::vector<Piece> pieces;
  std::size_t lacking = 0;
  for (const Segment& segment : arena_.segments()) {
    pieces.push_back({segment.begin, segment.end, segment.committed ? State::kWhole : State::kNone});
    if (!segment.committed) ++lacking;
  }
  segments_ = std::move(pieces);
  mean_ = std::max<std::uint64_t>(1, mapped() / std::max<std::size_t>(1, segments_.size()));
  lacking_ = lacking;
  committed_.store(arena_.committed().value(), std::memory_order_relaxed);
}

// The segment that contains `offset`; their number if none does.
std::size_t OnlineMemory::at(std::uint64_t offset) const {
  if (offset >= mapped()) return segments_.size();
  std::size_t index = std::min(offset / mean_, segments_.size() - 1);  // nearly all are of one size
  while (index > 0 && segments_[index].begin > offset) --index;
  while (segments_[index].end <= offset) ++index;
  return index;
}

std::uint64_t OnlineMemory::segment_begin(std::uint64_t offset) const { return segments_[at(offset)].begin; }

std::uint64_t OnlineMemory::segment_end(std::uint64_t offset) const { return segments_[at(offset)].end; }

Bytes OnlineMemory::lacking(std::uint64_t begin, std::uint64_t end) const {
  if (is_whole()) return Bytes(0);
  Bytes sum{0};
  for (std::size_t i = at(begin); i < segments_.size() && segments_[i].begin < end; ++i) {
    if (segments_[i].state != State::kWhole) sum += Bytes(segments_[i].end - segments_[i].begin);
  }
  return sum;
}

bool OnlineMemory::leaves(std::uint64_t begin, std::uint64_t end) const {
  if (is_whole()) return false;
  for (std::size_t i = at(begin); i < segments_.size() && segments_[i].begin < end; ++i) {
    if (segments_[i].state == State::kLeaves) return true;
  }
  return false;
}

Status OnlineMemory::commit(std::size_t index) {
  if (segments_[index].state == State::kWhole) return {};
  if (Status done = arena_.commit(index); !done.ok()) return done;
  segments_[index].state = State::kWhole;
  --lacking_;
  committed_.store(arena_.committed().value(), std::memory_order_relaxed);
  return {};
}

bool OnlineMemory::commit(std::uint64_t begin, std::uint64_t end) {
  if (lacking(begin, end).value() == 0) return true;
  if (is_held_back()) return false;
  const std::unique_lock<std::mutex> guard(changing_, std::try_to_lock);
  if (!guard) return false;  // another thread is adding or removing memory
  for (std::size_t i = at(begin); i < segments_.size() && segments_[i].begin < end; ++i) {
    device_full_ = !commit(i).ok();
    if (device_full_) return false;
  }
  return true;
}

bool OnlineMemory::grow(std::uint64_t end) {
  if (end <= mapped()) return true;
  if (is_held_back()) return false;
  const std::unique_lock<std::mutex> guard(changing_, std::try_to_lock);
  if (!guard) return false;
  const bool grown = arena_.grow(Bytes(end)).ok();  // addresses alone: that says nothing of the memory
  if (grown) look();
  return grown;
}

Bytes OnlineMemory::take_out(std::uint64_t begin, std::uint64_t end, std::uint64_t from, Bytes most) {
  Bytes taken{0};
  for (std::size_t i = at(end); i-- > 0 && taken < most;) {
    Piece& piece = segments_[i];
    if (piece.begin < std::max(begin, from)) break;
    if (piece.end > end || piece.state != State::kWhole) continue;
    piece.state = State::kLeaves;
    ++lacking_;
    taken += Bytes(piece.end - piece.begin);
  }
  return taken;
}

void OnlineMemory::give_back() noexcept {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].state == State::kLeaves) static_cast<void>(arena_.decommit(i));
  }
}

Bytes OnlineMemory::put_back() {
  const Bytes before = committed();
  look();
  return before - committed();
}

Status OnlineMemory::commit_all() {
  device_full_ = false;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (Status done = commit(i); !done.ok()) return done;
  }
  return {};
}

}  // namespace stowage::allocator
