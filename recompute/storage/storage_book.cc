#include "recompute/storage/storage_book.h"

#include <c10/core/Allocator.h>

#include <algorithm>

#include "core/support/check.h"
#include "recompute/recipe/random_state.h"
#include "recompute/storage/mapped_file.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

// True if every way down from `value` ends at a leaf that is there. A value on the way that leads to a lost
// leaf but is itself there becomes a leaf: what was made from it can still be made again. Verdicts of this
// stamp are kept in the values, so that each is visited once.
bool settle(Value& value, std::uint64_t stamp) {
  struct Frame {
    Value* value;
    std::size_t next;
  };
  std::vector<Frame> frames{{&value, 0}};
  while (!frames.empty()) {
    Frame& frame = frames.back();
    Value& at = *frame.value;
    if (frame.next == 0 && at.stamp != stamp) at.sound = state_of(at) != ValueState::kLost;
    const bool done = at.stamp == stamp || !at.recipe || !at.sound || frame.next == at.recipe->inputs.size();
    if (!done) {
      Value* const input = at.recipe->inputs[frame.next++].value.get();
      if (input == nullptr) continue;
      if (input->stamp == stamp) {
        at.sound = at.sound && input->sound;
      } else {
        frames.push_back({input, 0});
      }
      continue;
    }
    const ValueState state = state_of(at);
    const bool at_home = state == ValueState::kResident || state == ValueState::kOffloaded;
    if (!at.sound && at.recipe && at_home) {
      at.forget_recipe();
      at.sound = true;
    }
    at.stamp = stamp;
    const bool sound = at.sound;
    frames.pop_back();
    if (!frames.empty()) frames.back().value->sound = frames.back().value->sound && sound;
  }
  return value.sound;
}

}  // namespace

ValueState state_of(const Value& value) {
  if (value.kept) return ValueState::kKept;
  if (value.home != nullptr && value.home->alive()) {
    if (value.home->evicted) return ValueState::kEvicted;
    if (value.home->offloaded) return ValueState::kOffloaded;
    return value.write == WriteState::kClosing ? ValueState::kClosing : ValueState::kResident;
  }
  return value.recipe ? ValueState::kDead : ValueState::kLost;
}

bool has_own_bytes(const StorageRecord& record) {
  const c10::StorageImpl& impl = *record.address;
  return impl.data() == record.data && impl.nbytes() == record.bytes && owned_by_allocator(impl);
}

bool owned_by_allocator(const c10::StorageImpl& storage) {
  if (storage.data() == nullptr) return false;  // zero tensors, whose allocator is gone, and wrappers
  if (is_lent(storage)) return true;
  const c10::DeleterFnPtr deleter = storage.data_ptr().get_deleter();
  if (deleter == nullptr) return false;
  const auto frees = [&](c10::Allocator* allocator) {
    return allocator != nullptr && allocator->raw_deleter() == deleter;
  };
  return frees(const_cast<c10::StorageImpl&>(storage).allocator()) ||
         frees(c10::GetAllocator(storage.device_type()));
}

bool is_written_unseen(const c10::StorageImpl& storage) {
  if (storage.data() == nullptr || owned_by_allocator(storage)) return false;
  // What at::from_blob() wraps is somebody else's: NumPy's arrays, DLPack's tensors, buffers.
  static const c10::DeleterFnPtr wrapped = c10::InefficientStdFunctionContext::makeDataPtr(
                                               nullptr, [](void*) {}, c10::kCPU)
                                               .get_deleter();
  const bool may_be_a_file =
      storage.device_type() == c10::kCPU && storage.data_ptr().get_deleter() != wrapped;
  return !may_be_a_file || !is_in_private_file(storage.data());
}

StorageRecord& StorageBook::record_of(const c10::Storage& storage) {
  if (StorageRecord* const known = find(storage.unsafeGetStorageImpl())) return *known;
  StorageRecord& record = add(storage, Ref<Value>(new Value));
  record.exposed = storage.nbytes() > 0 && is_written_unseen(*storage.unsafeGetStorageImpl());
  return record;
}

StorageRecord& StorageBook::add(const c10::Storage& storage, Ref<Value> value) {
  c10::StorageImpl* const address = storage.unsafeGetStorageImpl();
  STOWAGE_DCHECK(find(address) == nullptr, "a storage is made once");
  auto record = std::make_unique<StorageRecord>(storage.getWeakStorageImpl());
  record->address = address;
  record->current = std::move(value);
  record->current->home = record.get();
  record->serial = ++serial_;
  record->place = records_.size();
  record->bytes = storage.nbytes();
  record->data = address->data();
  record->pinned = may_be_generator_state(*address);
  by_address_.insert(key_of(address), record.get());
  records_.push_back(std::move(record));
  return *records_.back();
}

void StorageBook::overwrite(StorageRecord& record, Ref<Value> value) {
  Value& old = *record.current;
  STOWAGE_CHECK(
      old.anchors == 0 || old.kept,
      "evicted values that start from this content are restored, or it is kept, before it is written");
  old.home = nullptr;
  old.encoded.reset();
  old.stand_in.reset();
  ++record.writes;
  record.current = std::move(value);
  record.current->home = &record;
  record.stored.reset();
  record.bytes = record.address->nbytes();
  record.data = record.address->data();
  if (record.watch) record.watch->value = nullptr;
}

void StorageBook::release_leaves(StorageRecord& record) {
  for (const auto& leaf : record.leaves) {
    if (--leaf->anchors > 0) continue;
    const Deeper quiet(this_thread().quiet, leaf->kept);
    leaf->anchor = c10::Storage();
    leaf->stored.reset();
    leaf->kept = false;
  }
  record.leaves.clear();
}

bool StorageBook::release_leaves_of_dead() {
  bool any = false;
  for (const std::unique_ptr<StorageRecord>& record : records_) {
    if (record->leaves.empty() || record->locks > 0 || record->alive()) continue;
    release_leaves(*record);
    any = true;
  }
  return any;
}

void StorageBook::bury(StorageRecord& record) {
  release_leaves(record);
  record.current->home = nullptr;
  record.current->encoded.reset();
  record.current->stand_in.reset();
  by_address_.erase(key_of(record.address));
  const std::size_t place = record.place;
  if (place + 1 < records_.size()) {
    std::swap(records_[place], records_.back());
    records_[place]->place = place;
  }
  records_.pop_back();
}

void StorageBook::line_up() {
  std::sort(records_.begin(), records_.end(),
            [](const auto& one, const auto& other) { return one->serial < other->serial; });
  for (std::size_t place = 0; place < records_.size(); ++place) records_[place]->place = place;
  hand_ = 0;
}

void StorageBook::clear() {
  records_.clear();
  by_address_.clear();
}

void StorageBook::sweep() {
  const std::uint64_t stamp = next_stamp();
  for_each([&](StorageRecord& record) {
    if (!record.evicted) settle(*record.current, stamp);
  });
}

void StorageBook::forget_history() {
  for_each([](StorageRecord& record) { record.current->forget_recipe(); });
}

bool StorageBook::collect_leaves(const Ref<Value>& value, std::size_t limit,
                                 std::vector<Ref<Value>>& leaves) {
  if (!settle(*value, next_stamp()) || !value->recipe) return false;
  const std::uint64_t stamp = next_stamp();
  std::vector<const Ref<Value>*> waiting{&value};
  value->stamp = stamp;
  std::size_t visited = 0;
  while (!waiting.empty()) {
    const Ref<Value>& next = *waiting.back();
    waiting.pop_back();
    if (++visited > limit) return false;
    if (!next->recipe) {
      leaves.push_back(next);
      continue;
    }
    for (const Input& input : next->recipe->inputs) {
      if (!input.value || input.value->stamp == stamp) continue;
      input.value->stamp = stamp;
      waiting.push_back(&input.value);
    }
  }
  return true;
}

}  // namespace stowage::recompute
