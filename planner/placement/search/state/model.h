// A problem as the exact search sees it: time as maximal cliques, bytes as small integers.
//
// Sections stand for the maximal cliques of the interval graph: two buffers meet in time if and only if they
// share a section, and no other times matter. Sizes, alignments and obstacles are divided by the largest unit
// that loses no placement, so that 32 bits hold an address. Tasks are numbered by their first section; so
// those that begin within a range of sections are a range of numbers.
//
// Source: maximal cliques of an interval graph as an ordered sweep (Fulkerson and Gross, 1965).
// Thread safety: immutable after build_model(); shared by all members of a portfolio.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement::search {

/// An address or a size, in the model's units.
using Units = std::int32_t;

/// No address is as high: what capacities are cut down to.
inline constexpr Units kMostUnits = 1 << 30;

/// Addresses [low, high) that are held by others.
struct Held {
  Units low = 0;
  Units high = 0;
};

/// Lists of `T` by index, back to back.
template <class T>
struct Lists {
  std::vector<std::uint32_t> start{0};  ///< one more than there are lists
  std::vector<T> values;
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const {
    return {values.data() + start[i], start[i + 1] - start[i]};
  }
};

/// What a task is: sections [begin, end), and [0, wrapped) too where its life goes round.
struct Task {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t wrapped = 0;
  Units size = 0;
  Units alignment = 1;
  std::uint32_t piece = 0;  ///< index in the instance
  std::uint32_t twins = 0;  ///< equal for tasks that may be exchanged in any placement
};

struct Model {
  std::uint64_t unit = 1;  ///< bytes
  std::uint32_t sections = 0;
  std::vector<Task> tasks;           ///< by begin
  std::vector<std::uint32_t> first;  ///< by section, one more: the first task that begins there or later
  Lists<std::uint32_t> cover;        ///< by section: the tasks that are alive in it
  Lists<std::uint32_t> entering;     ///< by section: those of them that began in an earlier one
  std::vector<std::int64_t> live;    ///< by section: the sum of its tasks' sizes, in units
  Lists<Held> held_in_section;       ///< ascending, disjoint; empty lists when there are no obstacles
  Lists<Held> held_from_task;        ///< by task: what it can not lie on; ascending, disjoint
  bool obstacles = false;
  bool aligned = false;  ///< some task's alignment is more than a unit
  bool wrapped = false;  ///< some task's life goes round
};

/// True if the search takes the instance on: addresses up to `capacity` fit into Units, and the tables into a
/// few hundred megabytes. Pieces with gaps are taken for solid.
[[nodiscard]] bool supports(const Instance& instance, std::uint64_t capacity);

/// Requires: supports(). `reversed`: time runs backwards. Not to be used if `limits` say stop after it.
[[nodiscard]] Model build_model(const Instance& instance, bool reversed, const Limits& limits = {});

}  // namespace stowage::planner::placement::search
