#include "planner/placement/instance/offset_index.h"

#include <algorithm>
#include <limits>

namespace stowage::planner::placement {

TimeGrid::TimeGrid(std::uint32_t ranks) {
  unsigned shift = 0;
  while (ranks >> shift >= kMostCells) ++shift;
  for (;; ++shift) {
    levels_.push_back({shift, {}});
    levels_.back().cells.resize((ranks >> shift) + 1);
    if (ranks >> shift == 0) return;
  }
}

template <class F>
void TimeGrid::for_cells(std::uint32_t begin, std::uint32_t end, const F& f) const {
  for (const Level& level : levels_) {
    const std::uint32_t first = begin >> level.shift;  // what began one cell before may continue
    const std::uint32_t last = (end - 1) >> level.shift;
    for (std::uint32_t cell = first == 0 ? 0 : first - 1; cell <= last; ++cell) {
      if (!f(level.cells[cell])) return;
    }
  }
}

void TimeGrid::insert(const Standing& entry) {
  if (entry.begin_rank >= entry.end_rank) return;
  const std::uint32_t length = entry.end_rank - entry.begin_rank;
  const auto level = std::find_if(levels_.begin(), levels_.end() - 1,
                                  [length](const Level& at) { return length >> at.shift == 0; });
  level->cells[entry.begin_rank >> level->shift].push_back(entry);
}

std::size_t TimeGrid::count(std::uint32_t begin, std::uint32_t end, std::size_t most) const {
  std::size_t found = 0;
  for_cells(begin, end,
            [&](const std::vector<Standing>& cell) { return (found += cell.size() + 1) <= most; });
  return found;
}

void TimeGrid::collect(std::uint32_t begin, std::uint32_t end, std::vector<Standing>& met) const {
  for_cells(begin, end, [&](const std::vector<Standing>& cell) {
    for (const Standing& entry : cell) {
      if (entry.begin_rank < end && begin < entry.end_rank) met.push_back(entry);
    }
    return true;
  });
}

std::uint64_t OffsetIndex::slices_of(std::uint32_t begin, std::uint32_t end) const {
  if (begin >= end) return 0;
  const std::uint64_t first = std::uint64_t{begin} * 64 / ranks_;
  const std::uint64_t last = std::uint64_t{end - 1} * 64 / ranks_;
  const std::uint64_t upto = last == 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (last + 1)) - 1;
  return upto & ~((std::uint64_t{1} << first) - 1);
}

std::uint64_t OffsetIndex::slices_of(const Life& life) const {
  return slices_of(life.begin, life.end) | slices_of(0, life.wrapped_end);
}

void OffsetIndex::insert(const Life& life, std::uint64_t offset, std::uint64_t size) {
  insert_span({offset, offset + size, life.begin, life.end});
  if (life.wrapped_end != 0) insert_span({offset, offset + size, 0, life.wrapped_end});
}

void OffsetIndex::insert(const Instance& instance, const Piece& piece, std::uint64_t offset) {
  if (piece.solid()) return insert(piece.life, offset, piece.size);
  for (const Part& part : instance.parts_of(piece))
    insert_span({offset + part.lower, offset + part.upper, part.begin, part.end});
}

void OffsetIndex::draw(Chunk& chunk) const {
  chunk.slices = 0;
  chunk.top = 0;
  for (const Entry& entry : chunk.entries) {
    chunk.slices |= slices_of(entry.begin_rank, entry.end_rank);
    chunk.top = std::max(chunk.top, entry.end);
  }
}

void OffsetIndex::insert_span(Entry entry) {
  ++count_;
  if (grid_) grid_->insert(entry);
  if (chunks_.empty() || entry.offset >= chunks_.back().entries.back().offset) return append(entry);
  insert_in_chunk(entry);
}

/// What ascends is put down without a search, in full chunks.
void OffsetIndex::append(const Entry& entry) {
  if (chunks_.empty() || chunks_.back().entries.size() >= kChunk) chunks_.emplace_back();
  Chunk& chunk = chunks_.back();
  chunk.entries.push_back(entry);
  chunk.slices |= slices_of(entry.begin_rank, entry.end_rank);
  chunk.top = std::max(chunk.top, entry.end);
}

/// Once the walks have cost a few times as much as it does.
void OffsetIndex::make_grid() const {
  grid_.emplace(ranks_);
  for (const Chunk& chunk : chunks_) {
    for (const Entry& placed : chunk.entries) grid_->insert(placed);
  }
}

void OffsetIndex::insert_in_chunk(const Entry& entry) {
  auto chunk = std::upper_bound(chunks_.begin(), chunks_.end(), entry.offset,
                                [](std::uint64_t v, const Chunk& c) { return v < c.entries.front().offset; });
  if (chunk != chunks_.begin()) --chunk;
  auto& entries = chunk->entries;
  const auto at = std::upper_bound(entries.begin(), entries.end(), entry.offset,
                                   [](std::uint64_t v, const Entry& e) { return v < e.offset; });
  entries.insert(at, entry);
  chunk->slices |= slices_of(entry.begin_rank, entry.end_rank);
  chunk->top = std::max(chunk->top, entry.end);
  if (entries.size() < 2 * kChunk) return;
  Chunk upper;
  upper.entries.assign(entries.begin() + kChunk, entries.end());
  entries.resize(kChunk);
  draw(*chunk);
  draw(upper);
  chunks_.insert(chunk + 1, std::move(upper));
}

bool OffsetIndex::collect(const Life& life, std::uint64_t& work) const {
  if (!grid_ && count_ >= kWorthGrid && walked_ > kWorthWalks * count_) make_grid();
  if (!grid_) return false;
  const std::size_t most = count_ / kSortFactor;
  std::size_t found = grid_->count(life.begin, life.end, most);
  if (life.wrapped_end != 0 && found <= most) found += grid_->count(0, life.wrapped_end, most);
  if (found > most) return false;
  met_.clear();
  grid_->collect(life.begin, life.end, met_);
  if (life.wrapped_end != 0) grid_->collect(0, life.wrapped_end, met_);
  std::sort(met_.begin(), met_.end(), [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  work += found + kSortFactor * met_.size();
  return true;
}

std::uint64_t OffsetIndex::first_fit(const Piece& piece, std::uint64_t& work) const {
  std::uint64_t candidate = 0;
  if (collect(piece.life, work)) {
    for (const Entry& entry : met_) {
      if (entry.offset >= candidate + piece.size) return candidate;
      if (entry.end > candidate) candidate = align_up(entry.end, piece.alignment);
    }
    return candidate;
  }
  const std::uint64_t slices = slices_of(piece.life);
  for (const Chunk& chunk : chunks_) {
    ++work;
    if (chunk.entries.front().offset >= candidate + piece.size) return candidate;
    if ((chunk.slices & slices) == 0 || chunk.top <= candidate) continue;
    for (const Entry& entry : chunk.entries) {
      if (!meets(entry, piece.life)) continue;
      if (entry.offset >= candidate + piece.size) return candidate;
      if (entry.end > candidate) candidate = align_up(entry.end, piece.alignment);
    }
    work += chunk.entries.size();
    walked_ += chunk.entries.size();
  }
  return candidate;
}

std::uint64_t OffsetIndex::best_fit(const Piece& piece, std::uint64_t& work) const {
  std::uint64_t candidate = 0;
  std::uint64_t best = 0;
  std::uint64_t best_waste = std::numeric_limits<std::uint64_t>::max();
  const auto pass = [&](const Entry& entry) {
    if (entry.offset >= candidate + piece.size && entry.offset - candidate - piece.size < best_waste) {
      best = candidate;
      best_waste = entry.offset - candidate - piece.size;
    }
    if (entry.end > candidate) candidate = align_up(entry.end, piece.alignment);
  };
  if (collect(piece.life, work)) {
    for (const Entry& entry : met_) pass(entry);
  } else {
    const std::uint64_t slices = slices_of(piece.life);
    for (const Chunk& chunk : chunks_) {
      ++work;
      if ((chunk.slices & slices) == 0) continue;
      for (const Entry& entry : chunk.entries) {
        if (meets(entry, piece.life)) pass(entry);
      }
      work += chunk.entries.size();
      walked_ += chunk.entries.size();
      if (best_waste == 0) return best;
    }
  }
  return best_waste == std::numeric_limits<std::uint64_t>::max() ? candidate : best;
}

// Each part walks up past the entries that it would lie on, which lifts all parts; what it has passed stays
// below it.
std::uint64_t OffsetIndex::first_fit(std::span<const Part> parts, std::uint64_t alignment,
                                     std::uint64_t& work) const {
  climbs_.clear();
  for (const Part& part : parts) climbs_.push_back({slices_of(part.begin, part.end), 0, 0});
  std::uint64_t candidate = 0;
  for (std::size_t calm = 0, at = 0; calm < parts.size(); at = at + 1 == parts.size() ? 0 : at + 1) {
    const bool lifted = climb(parts[at], alignment, climbs_[at], candidate, work);
    calm = lifted ? 1 : calm + 1;
  }
  return candidate;
}

/// True if it lifts `candidate`, where `part` then lies on no entry.
bool OffsetIndex::climb(const Part& part, std::uint64_t alignment, Climb& from, std::uint64_t& candidate,
                        std::uint64_t& work) const {
  const std::uint64_t before = candidate;
  for (; from.chunk < chunks_.size(); ++from.chunk, from.entry = 0) {
    const Chunk& chunk = chunks_[from.chunk];
    ++work;
    if (chunk.entries.front().offset >= candidate + part.upper) break;
    if ((chunk.slices & from.slices) == 0 || chunk.top <= candidate + part.lower) continue;
    const std::size_t first = from.entry;
    for (; from.entry < chunk.entries.size(); ++from.entry) {
      const Entry& entry = chunk.entries[from.entry];
      if (entry.offset >= candidate + part.upper) break;
      if (entry.begin_rank >= part.end || part.begin >= entry.end_rank) continue;
      if (entry.end > candidate + part.lower) candidate = align_up(entry.end - part.lower, alignment);
    }
    work += from.entry - first;
    if (from.entry < chunk.entries.size()) break;
  }
  return candidate != before;
}

}  // namespace stowage::planner::placement
