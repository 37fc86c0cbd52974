#include "recompute/residency/rematerializer.h"

#include <algorithm>
#include <utility>

#include "core/support/check.h"
#include "core/support/clock.h"
#include "recompute/away/guard_range.h"
#include "recompute/away/moved_bytes.h"
#include "recompute/recipe/replay.h"
#include "recompute/storage/own_stream.h"
#include "recompute/storage/raw_writes.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

constexpr int kDeepest = 100;  // restores inside restores

// The last of a list while it exists.
template <class T>
class Listed {
 public:
  Listed(std::vector<T*>& list, T& one) : list_(list) { list.push_back(&one); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { list_.pop_back(); }

 private:
  std::vector<T*>& list_;
};

}  // namespace

Rematerializer::Run Rematerializer::plan_for(const Value& target) {
  const std::uint64_t stamp = book_.next_stamp();
  Run run{plan_replay(target, stamp), {}};
  if (run.plan.steps.size() > 1) run.wanted = spares_.wanted_of(stamp);
  return run;
}

// What step has made for this input, or what is at its home; restored if it was evicted since the plan was
// made.
c10::Storage Rematerializer::input_of(Run& run, const Input& input, const Geometry& geometry) {
  if (input.captured) return {};
  if (geometry.role == Role::kUnread && guard_covers(geometry.storage_bytes))
    return unreadable_storage(geometry.device, geometry.storage_bytes);
  if (!input.value) return make_storage(geometry.device, geometry.storage_bytes);
  Value& value = *input.value;
  ReplayPlan& plan = run.plan;
  const auto made = plan.made.find(&value);
  const bool last = plan.uses.contains(&value) && --plan.uses[&value] == 0;
  if (made != plan.made.end()) {
    c10::Storage storage = last ? std::move(made->second) : made->second;
    if (last) {
      plan.made.erase(made);
      const auto wanted = run.wanted.find(&value);
      if (wanted != run.wanted.end() && geometry.role == Role::kRead)
        spares_.keep(value, storage, wanted->second);
    }
    return !last && geometry.role == Role::kWritten ? copy_storage(storage) : storage;
  }
  if (value.kept) {
    c10::Storage kept = offloader_.kept_bytes(value, geometry.device.type());
    return geometry.role == Role::kWritten ? copy_storage(kept) : kept;
  }
  if (value.home != nullptr && value.write != WriteState::kClosing) {
    restore(*value.home);
    const c10::Storage storage(value.home->impl.lock());
    if (storage && !value.home->away()) {
      require_no_raw_writes(*value.home);
      TORCH_CHECK(
          storage.nbytes() == value.home->bytes && storage.data() == value.home->data,
          "stowage: a tensor that a recomputation reads was resized outside of ops; run the job without a "
          "budget");
      return geometry.role == Role::kWritten ? copy_storage(storage) : storage;
    }
  }
  // It died, in another thread, since the plan was made, or memory was short.
  c10::Storage storage = make_again(value);
  if (last || !plan.uses.contains(&value)) return storage;
  plan.keep(value, storage);
  return geometry.role == Role::kWritten ? copy_storage(storage) : storage;
}

// An op may read and write one storage through several views (`y[1:] = y[:-1]`): those see one storage again.
std::vector<c10::Storage> Rematerializer::inputs_of(Run& run, const Recipe& recipe) {
  const auto& tensors = recipe.signature->tensors;
  std::vector<c10::Storage> inputs(recipe.inputs.size());
  const auto is_written = [](const Geometry& one) { return one.role == Role::kWritten; };
  if (std::any_of(tensors.begin(), tensors.end(), is_written)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_written(tensors[i]) && !inputs[i]) fetch_for_writing(run, recipe, i, inputs);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) inputs[i] = input_of(run, recipe.inputs[i], tensors[i]);
  }
  return inputs;
}

// The storage that the op writes through its `at`th tensor, for all of its tensors that show it.
void Rematerializer::fetch_for_writing(Run& run, const Recipe& recipe, std::size_t at,
                                       std::vector<c10::Storage>& inputs) {
  const Ref<Value>& value = recipe.inputs[at].value;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i != at && recipe.inputs[i].value == value) others.push_back(i);
  }
  const auto uses = run.plan.uses.find(value.get());
  if (uses != run.plan.uses.end()) uses->second -= static_cast<std::uint32_t>(others.size());
  inputs[at] = input_of(run, recipe.inputs[at], recipe.signature->tensors[at]);
  for (const std::size_t other : others) inputs[other] = inputs[at];
}

c10::Storage Rematerializer::make_again(Value& value) {
  STOWAGE_CHECK(static_cast<bool>(value.recipe), "a value that an evicted one starts from is lost");
  Run run = plan_for(value);
  run.plan.uses[&value] = 1;
  run_all(run);
  STOWAGE_CHECK(run.plan.made.contains(&value), "the last step of a plan makes what it is for");
  return std::move(run.plan.made[&value]);
}

void Rematerializer::run_all(Run& run) {
  int& depth = this_thread().replaying;
  TORCH_CHECK_WITH(OutOfMemoryError, depth < kDeepest,
                   "stowage: recomputation makes no progress: the budget is too small for it");
  const Deeper replaying(depth);
  const Aside aside(aside_);
  const Listed under_way(under_way_, run);
  for (const Ref<Recipe>& step : run.plan.steps) run_step(run, *step);
}

std::uint64_t Rematerializer::drop_made(std::uint64_t bytes, Place place) {
  std::uint64_t freed = 0;
  for (Run* const run : under_way_) {
    if (freed < bytes) freed += run->plan.drop_made(bytes - freed, place);
  }
  return freed;
}

void Rematerializer::run_step(Run& run, const Recipe& recipe) {
  std::vector<RecordLock> locks;
  for (const Input& input : recipe.inputs) locks.emplace_back(input.value ? input.value->home : nullptr);
  std::vector<c10::Storage> inputs = inputs_of(run, recipe);
  const std::uint64_t begin = now_ns();
  std::vector<c10::Storage> made = replay(recipe, inputs);
  const std::uint64_t took_ns = now_ns() - begin;
  counter_.replayed(took_ns, recipe.signature->cuda ? recipe.signature->cost_ns() : took_ns,
                    recipe.signature->shape);
  inputs.clear();
  deliver(run, recipe, made);
}

// All outputs of an op come back together: to their homes where those are evicted, to the plan where it needs
// them.
void Rematerializer::deliver(Run& run, const Recipe& recipe, std::vector<c10::Storage>& made) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Ref<Value> value(recipe.outputs[i].value);
    if (!value) continue;
    if (value->home != nullptr && value->home->away() && value->home->alive() && !value->home->arriving) {
      refill(*value->home, made[i]);
    } else if (!materialised(*value) && run.plan.uses.contains(value.get()) &&
               run.plan.uses[value.get()] > 0) {
      run.plan.keep(*value, made[i]);
    }
  }
}

void Rematerializer::refill(StorageRecord& record, c10::Storage& made) {
  put_bytes_back(record, made);
  rescue_.after_return(record);
  record.evicted ? counter_.came_back(record.bytes) : counter_.fetched(record.bytes);
  record.evicted = record.offloaded = false;
  neighbours_.leave(*record.current);
  StorageBook::release_leaves(record);
  if (watch_ != nullptr) watch_->after_restore(record);
}

// What rescue evicted and `record` is made from comes back first, on its own: else a recording would show it
// among what is made again as a schedule says.
std::vector<RecordLock> Rematerializer::bring_back_rescued(const StorageRecord& record, const Run& run) {
  std::vector<RecordLock> locks;
  if (record.rescued || !rescue_.any_away()) return locks;
  std::vector<StorageRecord*> rescued;
  for (const Ref<Recipe>& step : run.plan.steps) {
    for (const Output& output : step->outputs) {
      const Ref<Value> value(output.value);
      if (!value || value->home == nullptr || !value->home->rescued) continue;
      if (value->home->current == value) rescued.push_back(value->home);
    }
  }
  for (StorageRecord* const one : rescued) {
    locks.emplace_back(one);
    restore(*one);
  }
  return locks;
}

void Rematerializer::restore(StorageRecord& record) {
  if (!record.away() || !record.alive()) return;
  if (record.offloaded) return offloader_.fetch(record);
  const RecordLock lock(&record);
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const OnOwnStream own(record);
  const RescueWatch::Return returning(rescue_, record);
  spares_.drop_unwanted();
  Run run = plan_for(*record.current);
  const std::vector<RecordLock> beside = bring_back_rescued(record, run);
  if (!beside.empty()) run = plan_for(*record.current);
  run_all(run);
  STOWAGE_CHECK(!record.evicted, "the last step of a plan makes what it is for");
}

}  // namespace stowage::recompute
