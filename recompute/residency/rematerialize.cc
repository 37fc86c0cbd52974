#include <algorithm>
#include <chrono>

#include "core/support/check.h"
#include "recompute/ops/op_traits.h"
#include "recompute/recipe/replay.h"
#include "recompute/residency/replay_plan.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

constexpr int kDeepest = 100;  // restores inside restores

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

Residency::Plan Residency::plan_for(Value& target) {
  Plan plan;
  struct Frame {
    Ref<Recipe> recipe;
    std::size_t next;
  };
  const std::uint64_t stamp = book_.next_stamp();
  std::vector<Frame> frames{{target.recipe, 0}};
  target.recipe->stamp = stamp;
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.recipe->inputs.size()) {
      plan.steps.push_back(std::move(frame.recipe));
      frames.pop_back();
      continue;
    }
    const Ref<Value>& input = frame.recipe->inputs[frame.next++].value;
    if (!input || materialised(*input)) continue;
    ++plan.uses[input.get()];
    TORCH_CHECK(
        input->recipe, "stowage: an input of ", frame.recipe->signature->op->name,
        " that a recomputation starts from is lost; please report this, and run the job without a budget");
    if (input->recipe->stamp == stamp) continue;
    input->recipe->stamp = stamp;
    frames.push_back({input->recipe, 0});
  }
  if (keeps_spares_) find_wanted(plan, stamp);
  return plan;
}

// What step has made for this input, or what is at its home; restored if it was evicted since the plan was
// made.
c10::Storage Residency::input_of(Plan& plan, const Input& input, const Geometry& geometry) {
  if (input.captured) return {};
  if (!input.value) return make_storage(geometry.device, geometry.storage_bytes);
  Value& value = *input.value;
  const auto made = plan.made.find(&value);
  const bool last = plan.uses.contains(&value) && --plan.uses[&value] == 0;
  if (made != plan.made.end()) {
    c10::Storage storage = last ? std::move(made->second) : made->second;
    if (last) {
      plan.made.erase(made);
      const auto wanted = plan.wanted.find(&value);
      if (wanted != plan.wanted.end() && geometry.role == Role::kRead)
        keep_spare(value, storage, wanted->second);
    }
    return !last && geometry.role == Role::kWritten ? copy_storage(storage) : storage;
  }
  if (value.kept) return geometry.role == Role::kWritten ? copy_storage(value.anchor) : value.anchor;
  if (value.home != nullptr && !value.closing) {
    restore(*value.home);
    const c10::Storage storage(value.home->impl.lock());
    if (storage && !value.home->evicted) {
      require_no_raw_writes(*value.home);
      TORCH_CHECK(
          storage.nbytes() == value.home->bytes && storage.data() == value.home->data,
          "stowage: a tensor that a recomputation reads was resized outside of ops; run the job without a "
          "budget");
      return geometry.role == Role::kWritten ? copy_storage(storage) : storage;
    }
  }
  return make_again(value);  // it died, in another thread, since the plan was made
}

// An op may read and write one storage through several views (`y[1:] = y[:-1]`): those see one storage again.
std::vector<c10::Storage> Residency::inputs_of(Plan& plan, const Recipe& recipe) {
  const auto& tensors = recipe.signature->tensors;
  std::vector<c10::Storage> inputs(recipe.inputs.size());
  const auto is_written = [](const Geometry& one) { return one.role == Role::kWritten; };
  if (std::any_of(tensors.begin(), tensors.end(), is_written)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_written(tensors[i]) && !inputs[i]) fetch_for_writing(plan, recipe, i, inputs);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) inputs[i] = input_of(plan, recipe.inputs[i], tensors[i]);
  }
  return inputs;
}

// The storage that the op writes through its `at`th tensor, for all of its tensors that show it.
void Residency::fetch_for_writing(Plan& plan, const Recipe& recipe, std::size_t at,
                                  std::vector<c10::Storage>& inputs) {
  const Ref<Value>& value = recipe.inputs[at].value;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i != at && recipe.inputs[i].value == value) others.push_back(i);
  }
  const auto uses = plan.uses.find(value.get());
  if (uses != plan.uses.end()) uses->second -= static_cast<std::uint32_t>(others.size());
  inputs[at] = input_of(plan, recipe.inputs[at], recipe.signature->tensors[at]);
  for (const std::size_t other : others) inputs[other] = inputs[at];
}

c10::Storage Residency::make_again(Value& value) {
  STOWAGE_CHECK(static_cast<bool>(value.recipe), "a value that an evicted one starts from is lost");
  Plan plan = plan_for(value);
  plan.uses[&value] = 1;
  run_all(plan);
  STOWAGE_CHECK(plan.made.contains(&value), "the last step of a plan makes what it is for");
  return std::move(plan.made[&value]);
}

void Residency::run_all(Plan& plan) {
  int& depth = this_thread().replaying;
  TORCH_CHECK_WITH(OutOfMemoryError, depth < kDeepest,
                   "stowage: recomputation makes no progress: the budget is too small for it");
  const Deeper replaying(depth);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) run(plan, step);
}

void Residency::run(Plan& plan, std::size_t step) {
  const Recipe& recipe = *plan.steps[step];
  std::vector<RecordLock> locks;
  for (const Input& input : recipe.inputs) locks.emplace_back(input.value ? input.value->home : nullptr);
  std::vector<c10::Storage> inputs = inputs_of(plan, recipe);
  const std::uint64_t begin = now_ns();
  std::vector<c10::Storage> made = replay(recipe, inputs);
  const std::uint64_t took_ns = now_ns() - begin;
  counts_.replay_ns += took_ns;
  counts_.replay_cost_ns += recipe.signature->cuda ? recipe.signature->cost_ns() : took_ns;
  ++counts_.replays;
  inputs.clear();
  deliver(plan, recipe, made);
}

// All outputs of an op come back together: to their homes where those are evicted, to the plan where it needs
// them.
void Residency::deliver(Plan& plan, const Recipe& recipe, std::vector<c10::Storage>& made) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Ref<Value> value(recipe.outputs[i].value);
    if (!value) continue;
    if (value->home != nullptr && value->home->evicted && value->home->alive()) {
      refill(*value->home, made[i]);
    } else if (!materialised(*value) && plan.uses.contains(value.get()) && plan.uses[value.get()] > 0) {
      plan.made[value.get()] = made[i];
    }
  }
}

void Residency::refill(StorageRecord& record, c10::Storage& made) {
  c10::StorageImpl& source = *made.unsafeGetStorageImpl();
  record.address->set_data_ptr_noswap(std::move(source._mutable_data_ptr_no_checks()));
  source.set_nbytes(0);
  record.data = record.address->data();
  record.evicted = false;
  ++counts_.restores;
  count_away(record.bytes, false);
  Value& value = *record.current;
  if (set_of(value) >= 0) neighbours_.take_off(value.cost_set, value.recipe->signature->cost_ns());
  value.cost_set = -1;
  StorageBook::release_leaves(record);
  if (watch_ != nullptr) watch_->after_restore(record);
}

void Residency::restore(StorageRecord& record) {
  if (!record.evicted || !record.alive()) return;
  const RecordLock lock(&record);
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const OnOwnStream own(record);
  drop_unwanted_spares();
  Plan plan = plan_for(*record.current);
  run_all(plan);
  STOWAGE_CHECK(!record.evicted, "the last step of a plan makes what it is for");
}

}  // namespace stowage::recompute
