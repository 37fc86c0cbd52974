#include "planner/placement/online.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/placement/offset_index.h"

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

/// Pieces by the rank `of` them, as lists that begin at first[rank].
template <class Of>
std::vector<std::uint32_t> by_rank(const Instance& instance, std::vector<std::uint32_t>& first,
                                   const Of& of) {
  first.assign(instance.ranks + 2, 0);
  for (const Piece& piece : instance.pieces) ++first[of(piece) + 1];
  for (std::size_t rank = 1; rank < first.size(); ++rank) first[rank] += first[rank - 1];
  std::vector<std::uint32_t> next(first), list(instance.pieces.size());
  for (std::uint32_t i = 0; i < list.size(); ++i) list[next[of(instance.pieces[i])]++] = i;
  return list;
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
  if (!meter.look_now()) return draft.offsets.clear(), false;
  std::vector<std::uint32_t> born_from, dying_from;
  const auto born = by_rank(instance, born_from, [](const Piece& piece) { return piece.life.begin; });
  if (!meter.spend(4 * instance.pieces.size())) return draft.offsets.clear(), false;
  const auto dying = by_rank(instance, dying_from, [](const Piece& piece) { return piece.life.end; });
  if (!meter.look_now()) return draft.offsets.clear(), false;
  for (std::uint32_t rank = 0; rank < instance.ranks; ++rank) {
    for (std::uint32_t d = dying_from[rank]; d < dying_from[rank + 1]; ++d) {
      const Piece& piece = instance.pieces[dying[d]];
      if (!always(piece)) holes.give_back(draft.offsets[dying[d]], piece.size);
    }
    for (std::uint32_t b = born_from[rank]; b < born_from[rank + 1]; ++b) {
      if (!always(instance.pieces[born[b]])) place(born[b]);
    }
    if (!meter.spend(1 + 50u * (born_from[rank + 1] - born_from[rank]))) return draft.offsets.clear(), false;
  }
  draft.height = holes.end();
  return true;
}

}  // namespace stowage::planner::placement
