// Values and recipes: what can be made again, and how.
//
// A value is one version of one storage. It is current at its home storage until an op writes there; then
// only its recipe can bring it back. A recipe names the values that its op read, never tensors, so it keeps
// no memory alive but its own. Values without a recipe are leaves: parameters, inputs, whatever was not seen
// being made.
//
// Thread safety: none; the runtime's lock guards all of it.
// Invariants: a value with a home is its home's current one; a lost value is a leaf without a home.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/SizesAndStrides.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "recompute/random_state.h"

namespace stowage::recompute {

struct OpTraits;
struct Recipe;
struct StorageRecord;

struct Value {
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value();
  /// It is a leaf from now on.
  void forget_recipe();

  StorageRecord* home = nullptr;   ///< where it is the current version; null once overwritten or freed
  std::shared_ptr<Recipe> recipe;  ///< null: a leaf
  c10::Storage anchor;             ///< of a leaf, held while `anchors` > 0
  std::uint32_t anchors = 0;       ///< evicted storages that need this leaf
  std::uint32_t depth = 0;         ///< ops on the longest way from a leaf
  bool lost = false;               ///< neither at home nor with a recipe
  std::int32_t cost_set = -1;      ///< in NeighbourSets while it is not materialised
  bool closing = false;  ///< an op is overwriting it at its home: not to be read or counted on any more
  bool frozen = false;   ///< about to be closing: no further eviction may count on it
  bool sound = true;     ///< the verdict of the latest sweep
  std::uint32_t cost_generation = 0;  ///< of NeighbourSets, for which `cost_set` holds
  std::uint64_t stamp = 0;            ///< of the latest walk that came by
};

/// What an op does with one tensor argument's storage.
enum class Role : std::uint8_t {
  kRead,
  kWritten,     ///< read and written
  kOverwritten  ///< written, and nothing that the results show depends on what was there
};

/// How an op saw a storage: the view's geometry, by value.
struct TensorRef {
  std::shared_ptr<Value> value;  ///< null: overwritten, or captured in `bytes`
  c10::impl::SizesAndStrides geometry;
  std::int64_t offset = 0;  ///< in elements
  caffe2::TypeMeta dtype;
  c10::Device device{c10::kCPU};
  c10::DispatchKeySet keys;
  std::uint64_t storage_bytes = 0;
  std::array<std::byte, 16> bytes{};  ///< the content of a tiny leaf on the CPU
  bool captured = false;
  bool wrapped_number = false;  ///< a Python number: promotes types otherwise than a tensor
  Role role = Role::kRead;
};

/// How an argument is put together again.
enum class ArgumentKind : std::uint8_t { kPlain, kTensor, kTensorList, kOptionalTensorList };

/// One argument: a plain value, or the next tensors of the recipe. `present` tells which elements of a list
/// there are.
struct Argument {
  ArgumentKind kind = ArgumentKind::kPlain;
  c10::IValue plain;
  std::vector<bool> present;
};

/// Where an output appears: in a written argument, or in a result (element of a list, or -1).
struct Output {
  std::weak_ptr<Value> value;
  bool written = false;
  std::uint32_t index = 0;  ///< of the tensor in the recipe if written, else of the result
  std::int32_t element = -1;
  std::uint64_t storage_bytes = 0;
};

/// How an op ran: enough to run it again with the same bits.
struct Recipe {
  const OpTraits* op = nullptr;
  c10::SmallVector<Argument, 4> arguments;
  c10::SmallVector<TensorRef, 3> tensors;
  c10::SmallVector<Output, 2> outputs;
  std::unique_ptr<RandomState> random;  ///< before the op; null for an op that draws nothing
  std::uint64_t cost_ns = 0;
  std::uint64_t stamp = 0;  ///< of the latest plan that it is in
  bool grad_mode = true;
};

}  // namespace stowage::recompute
