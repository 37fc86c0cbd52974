// Walks from values down to what their recipes start from.
//
// Thread safety: none; the runtime's lock guards recipes.
#pragma once

#include <vector>

#include "recompute/recipe/value.h"

namespace stowage::recompute {

/// From each of `waiting`, which have recipes, down to the values with recipes that these start from, and on
/// from those for which `enter` returns true. `enter(Value&)` is called at each arrival, so it must detect
/// visited values (by a stamp of StorageBook::next_stamp()). Leaves `waiting` empty.
template <class Enter>
void walk_down(std::vector<Value*>& waiting, const Enter& enter) {
  while (!waiting.empty()) {
    const Value& at = *waiting.back();
    waiting.pop_back();
    for (const Input& input : at.recipe->inputs) {
      Value* const below = input.value.get();
      if (below != nullptr && below->recipe && enter(*below)) waiting.push_back(below);
    }
  }
}

}  // namespace stowage::recompute
