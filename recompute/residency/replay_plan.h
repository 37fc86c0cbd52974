// What bringing a value back takes: the ops to run again, in order, and what they make for each other.
//
// Thread safety: none; the runtime's lock guards values.
#pragma once

#include <c10/core/Storage.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recompute/recipe/value.h"
#include "recompute/storage/place.h"

namespace stowage::recompute {

struct ReplayPlan {
  std::vector<Ref<Recipe>> steps;                        ///< first to last; each once
  std::unordered_map<const Value*, std::uint32_t> uses;  ///< of what is not in memory: by steps to come
  std::unordered_map<const Value*, c10::Storage> made;   ///< what only later steps see
  std::vector<const Value*> order;                       ///< in which those were made; some are gone again

  void keep(const Value& value, c10::Storage storage);
  /// Frees the oldest of what was made that nobody reads at this moment, and that lies at `place`, until
  /// `bytes` are free. The bytes that it freed.
  std::uint64_t drop_made(std::uint64_t bytes, Place place);
};

/// The plan for `target`, which has a recipe, from what is in memory. Its recipes get the stamp `stamp`, a
/// new one of the book's (StorageBook::next_stamp()). Throws std::runtime_error (through TORCH_CHECK) if
/// something on the way down is lost.
[[nodiscard]] ReplayPlan plan_replay(const Value& target, std::uint64_t stamp);

}  // namespace stowage::recompute
