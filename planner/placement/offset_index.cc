#include "planner/placement/offset_index.h"

#include <algorithm>
#include <limits>

namespace stowage::planner::placement {

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
  auto chunk = std::upper_bound(chunks_.begin(), chunks_.end(), entry.offset,
                                [](std::uint64_t v, const Chunk& c) { return v < c.entries.front().offset; });
  if (chunk != chunks_.begin()) --chunk;
  if (chunk == chunks_.end()) chunk = chunks_.emplace(chunk);
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

std::uint64_t OffsetIndex::first_fit(const Piece& piece, std::uint64_t& work) const {
  const std::uint64_t slices = slices_of(piece.life);
  std::uint64_t candidate = 0;
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
  }
  return candidate;
}

std::uint64_t OffsetIndex::best_fit(const Piece& piece, std::uint64_t& work) const {
  const std::uint64_t slices = slices_of(piece.life);
  std::uint64_t candidate = 0;
  std::uint64_t best = 0;
  std::uint64_t best_waste = std::numeric_limits<std::uint64_t>::max();
  for (const Chunk& chunk : chunks_) {
    ++work;
    if ((chunk.slices & slices) == 0) continue;
    for (const Entry& entry : chunk.entries) {
      if (!meets(entry, piece.life)) continue;
      if (entry.offset >= candidate + piece.size && entry.offset - candidate - piece.size < best_waste) {
        best = candidate;
        best_waste = entry.offset - candidate - piece.size;
      }
      if (entry.end > candidate) candidate = align_up(entry.end, piece.alignment);
    }
    work += chunk.entries.size();
    if (best_waste == 0) return best;
  }
  return best_waste == std::numeric_limits<std::uint64_t>::max() ? candidate : best;
}

std::uint64_t OffsetIndex::first_fit(std::span<const Part> parts, std::uint64_t alignment,
                                     std::uint64_t& work) const {
  struct Barred {
    std::uint64_t begin, end;  // offsets that would put a part on an entry
  };
  std::vector<Barred> barred;
  for (const Part& part : parts) {
    const std::uint64_t slices = slices_of(part.begin, part.end);
    for (const Chunk& chunk : chunks_) {
      ++work;
      if ((chunk.slices & slices) == 0 || chunk.top <= part.lower) continue;
      work += chunk.entries.size();
      for (const Entry& entry : chunk.entries) {
        if (entry.begin_rank >= part.end || part.begin >= entry.end_rank || entry.end <= part.lower) continue;
        const std::uint64_t begin = entry.offset < part.upper ? 0 : entry.offset - part.upper + 1;
        barred.push_back({begin, entry.end - part.lower});
      }
    }
  }
  std::sort(barred.begin(), barred.end(), [](const Barred& a, const Barred& b) { return a.begin < b.begin; });
  std::uint64_t candidate = 0;
  for (const Barred& next : barred) {
    if (next.begin > candidate) break;
    if (next.end > candidate) candidate = align_up(next.end, alignment);
  }
  return candidate;
}

bool OffsetIndex::is_free(const Life& life, std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t slices = slices_of(life);
  for (const Chunk& chunk : chunks_) {
    if (chunk.entries.front().offset >= offset + size) return true;
    if ((chunk.slices & slices) == 0 || chunk.top <= offset) continue;
    for (const Entry& entry : chunk.entries) {
      if (meets(entry, life) && entry.offset < offset + size && offset < entry.end) return false;
    }
  }
  return true;
}

}  // namespace stowage::planner::placement
