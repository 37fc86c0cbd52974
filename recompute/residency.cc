#include "recompute/residency.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "recompute/guard_range.h"
#include "recompute/op_traits.h"
#include "recompute/own_stream.h"
#include "recompute/planned.h"
#include "recompute/replay.h"
#include "recompute/thread_watch.h"

namespace stowage::recompute {
namespace {

constexpr std::size_t kFarthest = 50000;  // values on the way to the leaves; beyond, a value stays
constexpr int kDeepest = 100;             // restores inside restores

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

int& replaying_here() noexcept {
  thread_local int depth = 0;
  return depth;
}

// The recipes to run, first to last, and what they have made so far for each other.
struct Residency::Plan {
  std::vector<Ref<Recipe>> steps;
  std::unordered_map<const Value*, std::uint32_t> uses;  ///< by steps to come
  std::unordered_map<const Value*, c10::Storage> made;
};

bool Residency::materialised(const Value& value) {
  if (value.kept) return true;
  return value.home != nullptr && !value.closing && !value.home->evicted && value.home->alive();
}

bool Residency::may_evict(const StorageRecord& record) {
  if (record.evicted || record.pinned || record.exposed || record.locks > 0 || record.bytes == 0)
    return false;
  if (!record.current->recipe || !record.alive() || !guard_covers(record.bytes)) return false;
  const c10::StorageImpl& impl = *record.address;
  return impl.data() == record.data && impl.nbytes() == record.bytes && owned_by_allocator(impl);
}

bool Residency::evict(StorageRecord& record) {
  if (unseen_op_runs() || !may_evict(record)) return false;
  const c10::Storage held(record.impl.lock());
  if (!held) return false;
  std::vector<Ref<Value>> leaves;
  if (!book_.collect_leaves(record.current, kFarthest, leaves)) return false;
  if (!anchor_leaves(leaves)) return false;
  record.leaves = std::move(leaves);
  join_neighbours(*record.current);
  c10::StorageImpl& impl = *record.address;
  if (poison_ && impl.device_type() == c10::kCPU) std::memset(impl.mutable_data(), 0xFF, record.bytes);
  const c10::Device device = impl.device();
  record.evicted = true;
  ++counts_.evictions;
  count_away(record.bytes, true);
  counts_.evicted_total += record.bytes;
  const QuietMemory quiet;
  impl.set_data_ptr_noswap(c10::DataPtr(guard_address(), device));  // frees what it held
  return true;
}

// False, and nothing done, if one of them is about to be overwritten or dies at this moment in another
// thread.
bool Residency::anchor_leaves(std::vector<Ref<Value>>& leaves) {
  std::vector<c10::Storage> held;
  for (const auto& leaf : leaves) {
    if (leaf->kept) {
      held.push_back(leaf->anchor);
      continue;
    }
    if (leaf->closing || leaf->frozen) return false;
    held.emplace_back(leaf->home->impl.lock());
    if (!held.back()) return false;
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i]->anchors++ == 0) leaves[i]->anchor = std::move(held[i]);
  }
  return true;
}

NeighbourSets::Id Residency::set_of(Value& value) {
  return value.cost_generation == neighbours_.generation() ? value.cost_set : -1;
}

// `value` is about to be away: its set takes in the sets of absent values next to it. Dead values on the way,
// which nobody evicted, are taken in as they are found.
void Residency::join_neighbours(Value& value) {
  constexpr std::size_t kManySets = 1u << 20;
  if (neighbours_.size() > kManySets) neighbours_.clear();
  const auto start_set = [this](Value& alone) {
    alone.cost_set = neighbours_.make(alone.recipe->kind->cost_ns());
    alone.cost_generation = neighbours_.generation();
  };
  start_set(value);
  std::vector<Value*> waiting{&value};
  while (!waiting.empty()) {
    Value& at = *waiting.back();
    waiting.pop_back();
    for (const Input& input : at.recipe->inputs) {
      Value* const next = input.value.get();
      if (next == nullptr || !next->recipe || materialised(*next)) continue;
      if (set_of(*next) < 0) {
        start_set(*next);
        waiting.push_back(next);
      }
      neighbours_.join(value.cost_set, next->cost_set);
    }
  }
  book_.for_each([&](StorageRecord& other) {
    if (!other.evicted || set_of(*other.current) < 0 || !other.current->recipe) return;
    for (const Input& input : other.current->recipe->inputs) {
      if (input.value.get() == &value) neighbours_.join(value.cost_set, other.current->cost_set);
    }
  });
}

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
        input->recipe, "stowage: an input of ", frame.recipe->kind->op->name,
        " that a recomputation starts from is lost; please report this, and run the job without a budget");
    if (input->recipe->stamp == stamp) continue;
    input->recipe->stamp = stamp;
    frames.push_back({input->recipe, 0});
  }
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
    if (last) plan.made.erase(made);
    return !last && geometry.role == Role::kWritten ? copy_storage(storage) : storage;
  }
  if (value.kept) return geometry.role == Role::kWritten ? copy_storage(value.anchor) : value.anchor;
  if (value.home != nullptr && !value.closing) {
    restore(*value.home);
    const c10::Storage storage(value.home->impl.lock());
    if (storage && !value.home->evicted) {
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
  const auto& tensors = recipe.kind->tensors;
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
  inputs[at] = input_of(plan, recipe.inputs[at], recipe.kind->tensors[at]);
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
  TORCH_CHECK_WITH(OutOfMemoryError, replaying_here() < kDeepest,
                   "stowage: recomputation goes round in circles: the budget is too small for it");
  struct Inside {
    int& depth;
    explicit Inside(int& at) : depth(++at) {}
    ~Inside() { --depth; }
  } const inside(replaying_here());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) run(plan, step);
}

void Residency::run(Plan& plan, std::size_t step) {
  const Recipe& recipe = *plan.steps[step];
  std::vector<RecordLock> locks;
  for (const Input& input : recipe.inputs) locks.emplace_back(input.value ? input.value->home : nullptr);
  std::vector<c10::Storage> inputs = inputs_of(plan, recipe);
  const std::uint64_t begin = now_ns();
  std::vector<c10::Storage> made = replay(recipe, inputs);
  counts_.replay_ns += now_ns() - begin;
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
  if (set_of(value) >= 0) neighbours_.take_off(value.cost_set, value.recipe->kind->cost_ns());
  value.cost_set = -1;
  StorageBook::release_leaves(record);
}

void Residency::restore(StorageRecord& record) {
  if (!record.evicted || !record.alive()) return;
  const RecordLock lock(&record);
  const c10::Storage held(record.impl.lock());
  if (!held) return;
  const OnOwnStream own(record);
  Plan plan = plan_for(*record.current);
  run_all(plan);
  STOWAGE_CHECK(!record.evicted, "the last step of a plan makes what it is for");
}

// Those that live; the dead need nothing any more.
std::vector<StorageRecord*> Residency::dependents_of(const Ref<Value>& leaf) {
  std::vector<StorageRecord*> dependents;
  book_.for_each([&](StorageRecord& other) {
    if (std::find(other.leaves.begin(), other.leaves.end(), leaf) != other.leaves.end())
      dependents.push_back(&other);
  });
  const auto is_dead = [this](StorageRecord* dependent) {
    if (dependent->alive()) return false;
    count_away(dependent->bytes, false);
    dependent->evicted = false;
    dependent->pinned = true;
    StorageBook::release_leaves(*dependent);
    return true;
  };
  std::erase_if(dependents, is_dead);
  return dependents;
}

// Bytes of the leaves that are as likely to be written as a parameter is, once, against those of the values
// that start from them. Where one parameter is written the others follow.
bool Residency::is_cheaper_kept(const StorageRecord& leaf, std::span<StorageRecord* const> dependents) {
  const std::uint64_t stamp = book_.next_stamp();
  std::uint64_t away = 0;
  std::uint64_t kept = leaf.bytes;
  leaf.current->stamp = stamp;
  for (const StorageRecord* const dependent : dependents) {
    away += dependent->bytes;
    for (const Ref<Value>& other : dependent->leaves) {
      if (other->stamp == stamp || other->home == nullptr || !other->home->pinned) continue;
      other->stamp = stamp;
      kept += other->home->bytes;
    }
  }
  return kept <= away;
}

void Residency::keep_content(StorageRecord& record) {
  struct Inside {
    Inside() { ++replaying_here(); }
    ~Inside() { --replaying_here(); }
  } const inside;
  const RecordLock lock(&record);
  const Ref<Value> content = record.current;
  const c10::Storage held(record.impl.lock());
  STOWAGE_CHECK(static_cast<bool>(held), "what an op is about to write is alive");
  c10::Storage copy = copy_storage(held);
  if (content->anchors == 0) {  // while room was made for the copy, whoever needed it came back
    content->frozen = true;
    return;
  }
  content->kept = true;
  content->anchor = std::move(copy);
  book_.overwrite(record, Ref<Value>(new Value));
}

void Residency::restore_each(std::span<StorageRecord* const> records) {
  std::vector<RecordLock> locks;  // or a small budget evicts one for the other for ever
  locks.reserve(records.size());
  for (StorageRecord* record : records) locks.emplace_back(record);
  for (StorageRecord* record : records) restore(*record);
}

void Residency::restore_all() {
  std::vector<StorageRecord*> away;
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted) away.push_back(&record);
  });
  restore_each(away);
}

void Residency::before_write(StorageRecord& record, bool as_planned) {
  const Ref<Value> content = record.current;
  const std::vector<StorageRecord*> dependents =
      content->anchors > 0 ? dependents_of(content) : std::vector<StorageRecord*>();
  const auto bring_back = [&] {
    content->frozen = true;
    restore_each(dependents);
  };
  if (dependents.empty() || (!short_ && (as_planned || !is_cheaper_kept(record, dependents)))) {
    try {
      return bring_back();
    } catch (const c10::OutOfMemoryError&) {
      short_ = true;  // nor will the rest fit
    }
    return keep_content(record);
  }
  try {
    keep_content(record);
  } catch (const c10::OutOfMemoryError&) {
    bring_back();
  }
}

void Residency::bury_dead(std::size_t count) {
  book_.bury_dead(count, [this](StorageRecord& record) {
    if (record.evicted) count_away(record.bytes, false);
  });
}

void Residency::count_away(std::uint64_t bytes, bool away) {
  counts_.evicted_bytes += away ? bytes : -bytes;
  any_away_.store(counts_.evicted_bytes > 0, std::memory_order_relaxed);
}

}  // namespace stowage::recompute
