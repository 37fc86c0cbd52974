// Ops that ran and are written down as the runtime would, with no runtime installed: what the classes of
// recompute/residency/ work on.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "recompute/away/offloader.h"
#include "recompute/away/residency_counts.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/recipe/signature.h"
#include "recompute/residency/neighbour_costs.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute::test {

struct RecordedOps {
  StorageBook book;
  SignatureBook signatures;
  NeighbourCosts neighbours{book};
  ResidencyCounter counter;
  Stores stores;
  RescueWatch rescue;
  Offloader offloader{book, stores, counter, rescue};

  StorageRecord& record_of(const at::Tensor& tensor) { return book.record_of(tensor.storage()); }
  Ref<Value> value_of(const at::Tensor& tensor) { return record_of(tensor).current; }

  /// The results of the op, each with a recipe; what it writes in place gets a further version.
  std::vector<at::Tensor> run_all(const char* name, const char* overload,
                                  const std::vector<c10::IValue>& arguments) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    const OpTraits& traits = traits_of(op);
    const Ref<Recipe> recipe(new Recipe);
    std::vector<Seen> seen;
    std::vector<StorageRecord*> read;
    std::uint32_t depth = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const at::Tensor* const tensor = tensor_in(arguments[i]);
      if (tensor == nullptr) continue;
      read.push_back(&record_of(*tensor));
      recipe->inputs.push_back({read.back()->current, nullptr});
      seen.push_back({tensor, read.back()->bytes, traits.written[i] ? Role::kWritten : Role::kRead});
      depth = std::max(depth, read.back()->current->depth + 1);
    }
    recipe->signature = signatures.signature_of(CallHash(traits, arguments), traits, arguments, seen);
    recipe->signature->note_cost(1000, 0);
    std::vector<c10::IValue> stack = arguments;
    op.callBoxed(&stack);

    const auto made = [&](bool written, std::uint32_t index, std::uint64_t bytes) {
      Ref<Value> value(new Value);
      value->set_recipe(recipe, depth, written, index, -1, bytes);
      return value;
    };
    std::vector<at::Tensor> results;
    for (std::uint32_t i = 0; i < stack.size(); ++i) {
      results.push_back(stack[i].toTensor());
      const c10::Storage& storage = results.back().storage();
      if (book.find(storage.unsafeGetStorageImpl()) == nullptr)
        book.add(storage, made(false, i, storage.nbytes()));
    }
    for (std::uint32_t i = 0; i < read.size(); ++i) {
      if (seen[i].role == Role::kWritten) book.overwrite(*read[i], made(true, i, read[i]->bytes));
    }
    return results;
  }
  at::Tensor run(const char* name, const char* overload, const std::vector<c10::IValue>& arguments) {
    return run_all(name, overload, arguments).at(0);
  }
  at::Tensor sum_of(const at::Tensor& x, const at::Tensor& y) {
    return run("aten::add", "Tensor", {x, y, 1});
  }
  at::Tensor doubled(const at::Tensor& x) { return sum_of(x, x); }
  at::Tensor exp_of(const at::Tensor& x) { return run("aten::exp", "", {x}); }

  /// Takes the bytes away, as Residency::evict() does.
  void evict(const at::Tensor& tensor) {
    StorageRecord& record = record_of(tensor);
    std::vector<Ref<Value>> leaves;
    TORCH_CHECK(book.collect_leaves(record.current, 100'000, leaves), "it cannot be made again");
    for (const Ref<Value>& leaf : leaves) {
      if (leaf->anchors++ == 0 && !leaf->kept) leaf->anchor = c10::Storage(leaf->home->impl.lock());
    }
    record.leaves = std::move(leaves);
    neighbours.join(*record.current);
    record.evicted = true;
    counter.left(record.bytes);
    rescue.before_leaving(record);
    record.address->set_data_ptr_noswap(c10::DataPtr(nullptr, c10::kCPU));
  }
};

}  // namespace stowage::recompute::test
