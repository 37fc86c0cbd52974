// What bringing a value back takes: the ops to run, and what they make for each other. For the files that
// share Residency's work.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <unordered_map>
#include <vector>

#include "recompute/residency/residency.h"

namespace stowage::recompute {

struct Residency::Plan {
  std::vector<Ref<Recipe>> steps;                        ///< first to last
  std::unordered_map<const Value*, std::uint32_t> uses;  ///< by steps to come
  std::unordered_map<const Value*, c10::Storage> made;   ///< what only later steps see
  std::unordered_map<const Value*, std::uint64_t>
      wanted;  ///< made dead, and who else starts from it was used then
};

}  // namespace stowage::recompute
