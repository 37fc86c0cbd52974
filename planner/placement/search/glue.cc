#include "planner/placement/search/glue.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stowage::planner::placement {
namespace {

/// By rank, one more: the maximal clique that is open there; one closes with the first death after a birth.
std::vector<std::uint32_t> cliques_by_rank(const Instance& instance) {
  std::vector<char> born(instance.ranks + 1, 0), dies(instance.ranks + 1, 0);
  const auto mark = [&](std::uint32_t begin, std::uint32_t end) {
    if (begin < end) born[begin] = dies[end] = 1;
  };
  const auto mark_life = [&](const Life& life) {
    mark(life.begin, life.end);
    mark(0, life.wrapped_end);
  };
  for (const Piece& piece : instance.pieces) mark_life(piece.life);
  for (const Part& part : instance.parts) mark(part.begin, part.end);
  for (const Obstacle& obstacle : instance.obstacles) mark_life(obstacle.life);
  std::vector<std::uint32_t> clique(instance.ranks + 1, 0);
  std::uint32_t count = 0;
  bool open = false;
  for (std::uint32_t rank = 0; rank <= instance.ranks; ++rank) {
    if (open && dies[rank] != 0) {
      ++count;
      open = false;
    }
    open = open || born[rank] != 0;
    clique[rank] = count;
  }
  return clique;
}

bool can_be_glued(const Piece& piece) {
  return piece.solid() && piece.life.wrapped_end == 0 && piece.size % piece.alignment == 0;
}

void add_to(Piece& glued, const Piece& piece) {
  glued.size += piece.size;
  glued.life.begin = std::min(glued.life.begin, piece.life.begin);
  glued.life.end = std::max(glued.life.end, piece.life.end);
  glued.duration = std::max(glued.duration, piece.duration);
  glued.birth = std::min(glued.birth, piece.birth);
}

}  // namespace

Glued glue(const Instance& whole, const Limits& limits) {
  constexpr std::uint32_t kLookEvery = 8192;  // pieces, some milliseconds
  Glued glued;
  glued.instance = whole;
  glued.instance.pieces.clear();
  const std::vector<std::uint32_t> clique = cliques_by_rank(whole);
  using Kind = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // cliques spanned, alignment
  std::map<Kind, std::size_t> kinds;
  for (std::uint32_t i = 0; i < whole.pieces.size(); ++i) {
    if (i % kLookEvery == 0 && limits.stopped()) return glued;
    const Piece& piece = whole.pieces[i];
    if (can_be_glued(piece)) {
      const Kind kind{clique[piece.life.begin], clique[piece.life.end], piece.alignment};
      const auto [at, is_new] = kinds.emplace(kind, glued.members.size());
      if (!is_new) {
        add_to(glued.instance.pieces[at->second], piece);
        glued.members[at->second].push_back(i);
        continue;
      }
    }
    glued.instance.pieces.push_back(piece);
    glued.members.push_back({i});
  }
  for (const Piece& piece : glued.instance.pieces)
    glued.instance.bound = std::max(glued.instance.bound, piece.size);
  return glued;
}

Draft unglue(const Instance& whole, const Glued& glued, const Draft& draft) {
  Draft whole_draft;
  whole_draft.offsets.assign(whole.pieces.size(), 0);
  whole_draft.height = draft.height;
  for (std::size_t g = 0; g < glued.members.size(); ++g) {
    std::uint64_t at = draft.offsets[g];
    for (std::uint32_t i : glued.members[g]) {
      whole_draft.offsets[i] = at;
      at += whole.pieces[i].size;
    }
  }
  return whole_draft;
}

}  // namespace stowage::planner::placement
