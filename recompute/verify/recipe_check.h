// STOWAGE_VERIFY: replays a call's recipe as soon as the call has ended, and compares.
//
//   RecipeCheck check;
//   check.begin(recipe, records);        // before the op runs: keeps what it will read or overwrite
//   … the op runs …
//   auto wrong = check.end(recipe, …);   // what the recipe makes is not what the op made
// A copy is kept of what the op reads and writes; what it only overwrites is filled with NaN for the replay,
// so that a recipe that reads it after all is found out.
//
// Thread safety: the caller holds the runtime's lock. The memory that the check takes comes on top of the
// job's; where there is none, the call is not checked.
#pragma once

#include <c10/util/ArrayRef.h>

#include <optional>
#include <string>
#include <vector>

#include "recompute/recipe/value.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class RecipeCheck {
 public:
  /// `records`: the storages that recipe.inputs show, in order.
  void begin(const Recipe& recipe, const std::vector<StorageRecord*>& records);
  /// A call was begun, and there was memory for it.
  [[nodiscard]] bool begun() const { return begun_; }
  /// The difference in words, if there is one. `results`: of the op.
  std::optional<std::string> end(const Recipe& recipe, c10::ArrayRef<c10::IValue> results);

 private:
  std::optional<std::string> compare(const Recipe& recipe, c10::ArrayRef<c10::IValue> results);

  bool begun_ = false;
  std::vector<c10::Storage> homes_;   ///< of the inputs, as the job has them
  std::vector<c10::Storage> inputs_;  ///< what the replay gets: copies where the op writes
};

}  // namespace stowage::recompute
