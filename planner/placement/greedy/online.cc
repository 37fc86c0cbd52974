#include "planner/placement/greedy/online.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/placement/instance/offset_index.h"
#include "planner/placement/problem/stretches.h"

namespace stowage::planner::placement {
namespace {

/// Bytes that nobody holds at the moment, and the end of all that ever were held.
class Holes {
 public:
  explicit Holes(std::uint64_t floor) : end_(floor) {}

  [[nodiscard]] std::uint64_t end() const { return end_; }

  std::uint64_t take(std::uint64_t size, std::uint64_t alignment) {
    // The smallest hole may be misaligned; one with room for any shift always does.
    for (const std::uint64_t wanted : {size, size + alignment - 1}) {
      const auto found = by_size_.lower_bound({wanted, 0});
      if (found == by_size_.end()) continue;
      const auto [bytes, begin] = *found;
      const std::uint64_t offset = align_up(begin, alignment);
      if (offset + size > begin + bytes) continue;
      remove(begin, bytes);
      if (offset > begin) add(begin, offset - begin);
      if (offset + size < begin + bytes) add(offset + size, begin + bytes - offset - size);
      return offset;
    }
    return take_on_top(size, alignment);
  }

  void give_back(std::uint64_t offset, std::uint64_t size) {
    const auto above = by_offset_.lower_bound(offset);
    if (above != by_offset_.end() && above->first == offset + size) {
      const std::uint64_t bytes = above->second;
      remove(above->first, bytes);
      size += bytes;
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [begin, bytes] = *std::prev(next);
      if (begin + bytes == offset) {
        remove(begin, bytes);
        offset = begin;
        size += bytes;
      }
    }
    add(offset, size);
  }

 private:
  /// Beyond the end, with the hole below it if there is one.
  std::uint64_t take_on_top(std::uint64_t size, std::uint64_t alignment) {
    std::uint64_t begin = end_;
    if (!by_offset_.empty()) {
      const auto [last, bytes] = *by_offset_.rbegin();
      if (last + bytes == end_) {
        begin = last;
        remove(last, bytes);
      }
    }
    const std::uint64_t offset = align_up(begin, alignment);
    if (offset > begin) add(begin, offset - begin);
    end_ = offset + size;
    return offset;
  }
  void add(std::uint64_t begin, std::uint64_t bytes) {
    by_offset_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  void remove(std::uint64_t begin, std::uint64_t bytes) {
    by_offset_.erase(begin);
    by_size_.erase({bytes, begin});
  }

  std::uint64_t end_;
  std::map<std::uint64_t, std::uint64_t> by_offset_;           // bytes by where they begin
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (bytes, where)
};

bool always(const Piece& piece) { return piece.life.wrapped_end != 0 || !piece.solid(); }

/// Pieces by a rank, as lists that begin at first[rank].
struct ByRank {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> pieces;
};

/// By the rank `of` each. False when the meter stopped it.
template <class Of>
bool list_by_rank(const Instance& instance, const Of& of, WorkMeter& meter, ByRank& by_rank) {
  if (!meter.spend(2 * instance.pieces.size())) return false;
  const auto stopped = [&meter] { return !meter.look_now(); };
  std::vector<std::uint32_t>&first = by_rank.first, &pieces = by_rank.pieces;
  const std::size_t count = instance.pieces.size();
  if (!zeroed_in_stretches(first, instance.ranks + 2, stopped)) return false;
  if (!in_stretches(count, stopped, [&](std::size_t i) { ++first[of(instance.pieces[i]) + 1]; }))
    return false;
  const auto add_up = [&](std::size_t rank) { first[rank + 1] += first[rank]; };
  if (!in_stretches(instance.ranks + 1, stopped, add_up)) return false;
  std::vector<std::uint32_t> next(first);
  if (!zeroed_in_stretches(pieces, count, stopped)) return false;
  return in_stretches(count, stopped, [&](std::size_t i) {
    pieces[next[of(instance.pieces[i])]++] = static_cast<std::uint32_t>(i);
  });
}

}  // namespace

bool place_online(const Instance& instance, WorkMeter& meter, Draft& draft) {
  draft.offsets.assign(instance.pieces.size(), 0);
  Holes holes(instance.floor);
  const auto place = [&](std::uint32_t i) {
    draft.offsets[i] = holes.take(instance.pieces[i].size, instance.pieces[i].alignment);
  };
  for (std::uint32_t i = 0; i < instance.pieces.size(); ++i) {
    if (always(instance.pieces[i])) place(i);
  }
  if (!meter.look_now()) return ran_out(draft);
  const auto birth = [](const Piece& piece) { return piece.life.begin; };
  const auto death = [](const Piece& piece) { return piece.life.end; };
  ByRank born, dying;
  if (!list_by_rank(instance, birth, meter, born) || !list_by_rank(instance, death, meter, dying))
    return ran_out(draft);
  for (std::uint32_t rank = 0; rank < instance.ranks; ++rank) {
    for (std::uint32_t d = dying.first[rank]; d < dying.first[rank + 1]; ++d) {
      const std::uint32_t i = dying.pieces[d];
      if (!always(instance.pieces[i])) holes.give_back(draft.offsets[i], instance.pieces[i].size);
    }
    for (std::uint32_t b = born.first[rank]; b < born.first[rank + 1]; ++b) {
      if (!always(instance.pieces[born.pieces[b]])) place(born.pieces[b]);
    }
    if (!meter.spend(1 + 50u * (born.first[rank + 1] - born.first[rank]))) return ran_out(draft);
  }
  draft.height = holes.end();
  return true;
}

}  // namespace stowage::planner::placement
