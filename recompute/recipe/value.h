// Values and recipes: what can be recomputed, and how.
//
// A value is one version of one storage. It is current at its home storage until an op writes there; then
// only its recipe can bring it back. A recipe names the values that its op read, never tensors, so it keeps
// no memory alive but its own. Values without a recipe are leaves: parameters, inputs, all that was not seen
// being made.
//
// Thread safety: none; the runtime's lock guards all of it, creation and release included.
// Invariants: a value with a home is its home's current one; a recipe's output names a value exactly as long
// as that value names the recipe.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <array>
#include <cstdint>
#include <memory>

#include "core/runtime/residency_contract.h"
#include "recompute/recipe/counted.h"
#include "recompute/recipe/random_state.h"
#include "recompute/recipe/signature.h"
#include "recompute/stores/store.h"

namespace stowage::recompute {

class SourceLine;
struct Recipe;
struct StorageRecord;

/// A tensor that serves an op of the backward pass as well as a value (rewrite/stand_ins.h, early_masks.h).
struct StandIn {
  at::Tensor tensor;
  std::uint64_t key = 0;  ///< of the op, and of the state of the tensor in which it does
};

struct Value : Counted<Value> {
  Value();
  ~Value();
  /// `made_by` makes it, as a further output, after `depth` ops from a leaf.
  void set_recipe(Ref<Recipe> made_by, std::uint32_t depth, bool written, std::uint32_t index,
                  std::int32_t element, std::uint64_t storage_bytes);
  /// It is a leaf from now on.
  void forget_recipe();

  StorageRecord* home = nullptr;         ///< where it is the current version; null once overwritten or freed
  Ref<Recipe> recipe;                    ///< null: a leaf
  c10::Storage anchor;                   ///< of a leaf, while `anchors` > 0: its home's storage, or a copy
  std::unique_ptr<StoredCopy> stored;    ///< of a kept leaf that was offloaded: instead of `anchor`
  std::uint64_t stored_bytes = 0;        ///< of `stored`
  at::Tensor encoded;                    ///< what an op to come needs of it, in fewer bytes (encode/codecs.h)
  std::unique_ptr<StandIn> stand_in;     ///< what an op to come may read instead
  std::uint64_t masked_for = 0;          ///< the ReLU for whose gradient it has its zeros (early_masks.h)
  std::uint64_t stamp = 0;               ///< of the latest walk that visited it
  std::uint32_t anchors = 0;             ///< evicted storages that need this leaf
  std::uint32_t depth = 0;               ///< ops on the longest way from a leaf
  std::uint32_t output = 0;              ///< which of its recipe's
  std::int32_t cost_set = -1;            ///< in NeighbourSets while it is not materialised
  std::uint32_t cost_generation = 0;     ///< of NeighbourSets, for which `cost_set` holds
  WriteState write = WriteState::kOpen;  ///< at its home
  bool kept = false;       ///< not at home, but `anchor` or `stored` has it: an overwritten leaf, or a spare
  bool rectified = false;  ///< a ReLU made it
  bool sound = true;       ///< the verdict of the latest sweep
};

/// The content of a tiny leaf on the CPU.
using Content = std::array<std::byte, 16>;

/// What a recipe reads through one of its signature's tensors.
struct Input {
  Ref<Value> value;                   ///< null: overwritten, unread or captured
  std::unique_ptr<Content> captured;  ///< a tiny leaf's content
};

/// Where an output appears: in a written argument, or in a result (element of a list, or -1).
struct Output {
  Value* value = nullptr;  ///< null once it is not needed
  std::uint64_t storage_bytes = 0;
  std::uint32_t index = 0;  ///< of the tensor in the recipe if written, else of the result
  std::int32_t element = -1;
  bool written = false;
};

/// How an op ran: enough to run it again with the same bits.
struct Recipe : Counted<Recipe> {
  Ref<Signature> signature;
  c10::SmallVector<Input, 3> inputs;  ///< one for each of the signature's tensors
  c10::SmallVector<Output, 2> outputs;
  std::unique_ptr<RandomState> random;       ///< before the op; null for an op that draws nothing
  std::uint64_t stamp = 0;                   ///< of the latest plan that it is in
  std::shared_ptr<const SourceLine> source;  ///< of the call, where recipes are verified; else null
};

}  // namespace stowage::recompute
