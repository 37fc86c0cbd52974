#include "recompute/op_call.h"

#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "recompute/argument.h"
#include "recompute/interposer.h"
#include "recompute/modelled_cost.h"
#include "recompute/parameter.h"
#include "recompute/raw_writes.h"
#include "recompute/tensor_memory.h"
#include "recompute/tensor_parts.h"
#include "recompute/thread_watch.h"

namespace stowage::recompute {
namespace {

constexpr std::uint32_t kDeepest = 20000;  // ops from a leaf; history that long is cut

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// One that only warns of what does not repeat runs it.
bool repeats(const OpTraits& op) {
  if (op.unrepeatable) return false;
  const at::Context& context = at::globalContext();
  return !op.unrepeatable_kernel ||
         (context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly());
}

// The one that the op draws from; undefined where the device is not served.
at::Generator generator_of(c10::ArrayRef<c10::IValue> arguments, std::optional<c10::Device> device) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isGenerator()) return argument.toGenerator();
    if (!device && argument.isDevice()) device = argument.toDevice();
  }
  const c10::Device on = device.value_or(c10::Device(c10::kCPU));
  return on.is_cpu() || on.is_cuda() ? at::globalContext().defaultGenerator(on) : at::Generator();
}

// Memory that is used on several streams is freed and made again only by who knows how they wait for each
// other.
void note_stream(StorageRecord& record) {
  const c10::Device device = record.address->device();
  if (device.is_cpu()) return;
  const std::int64_t stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).id();
  if (record.stream < 0) record.stream = stream;
  if (record.stream != stream) record.pinned = true;
}

}  // namespace

OpCall::OpCall(const OpTraits& traits, Below below)
    : machine_(machine()), thread_(this_thread()), traits_(traits), below_(below) {}

OpCall::~OpCall() {
  if (ended_) return;
  const std::lock_guard<std::recursive_mutex> lock(machine_.mutex);
  recipe_.reset();  // the op failed: what it was to write holds nobody knows what
  machine_.draws.end(draw_);
  if (begun_) renew_written();
  machine_.steps.fail_op(step_);
  unlock();
}

void OpCall::unlock() {
  for (const Use& use : uses_) --use.record->locks;
  for (const Part& part : parts_) --part.record->locks;
  uses_.clear();
  parts_.clear();
}

void OpCall::begin(c10::ArrayRef<c10::IValue> arguments) {
  const std::lock_guard<std::recursive_mutex> lock(machine_.mutex);
  ++machine_.op_number;
  ++machine_.counters.ops;
  if (machine_.steps.on()) step_ = machine_.steps.before_op(traits_, arguments);
  machine_.residency.keep_spares(!machine_.steps.driver().follows());
  read_arguments(arguments);
  bring_back();
  pin_what_is_unsafe();
  if (traits_.random) begin_draw(arguments);
  if (may_record()) make_recipe(arguments);
  announce_writes();
  if (machine_.steps.records()) note_begin();
  const Options& options = machine_.options;
  if (options.forced_every > 0 && machine_.op_number % options.forced_every == 0)
    machine_.evictor.evict_some(options.forced_seed, options.smallest.value(), machine_.op_number);
  begun_ = true;
  thread_.op_bytes = 0;
  started_ns_ = now_ns();
}

// For the log of this iteration.
void OpCall::note_begin() {
  c10::SmallVector<StepRecorder::Argument, 6> arguments;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (is_written_by_another(i)) continue;
    const bool kept = recipe_ && recipe_->inputs[i].captured != nullptr;
    const ValueRole role = uses_[i].role == Role::kOverwritten ? ValueRole::kReplaced
                           : uses_[i].role == Role::kWritten   ? ValueRole::kChanged
                           : kept                              ? ValueRole::kKept
                                                               : ValueRole::kRead;
    arguments.push_back({uses_[i].record, role});
  }
  machine_.steps.begin_op(step_, traits_, {arguments.data(), arguments.size()});
}

bool OpCall::trains(c10::ArrayRef<c10::IValue> arguments) const {
  if (traits_.statistics < 0) return false;
  return traits_.training < 0 || arguments[static_cast<std::size_t>(traits_.training)].toBool();
}

void OpCall::read_arguments(c10::ArrayRef<c10::IValue> arguments) {
  const bool training = trains(arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (const at::Tensor* const tensor = tensor_in(arguments[i])) {
      read_tensor(*tensor, i, training);
    } else if (is_list_of_tensors(arguments[i])) {
      for (const c10::IValue& element : arguments[i].toListRef()) {
        if (const at::Tensor* const listed = tensor_in(element)) read_tensor(*listed, i, training);
      }
    } else if (!is_plain(arguments[i])) {
      hidden_ = true;
    }
  }
  for (Use& use : uses_) {
    const bool whole = use.role == Role::kOverwritten && !use.statistics;
    if (whole && !(below_ == Below::kPlain && has_plain_memory(*use.tensor) && shows_all(*use.tensor) &&
                   appears_once(use)))
      use.role = Role::kWritten;
  }
}

void OpCall::read_tensor(const at::TensorBase& tensor, std::size_t argument, bool trains) {
  if (may_have_parts(tensor)) read_parts(tensor, traits_.written[argument]);
  if (!shows_plain_memory(tensor)) hidden_ = true;
  const c10::Storage* const storage = served_storage(tensor);
  if (storage == nullptr) return;
  StorageRecord& record = machine_.book.record_of(*storage);
  ++record.locks;
  const auto first = static_cast<std::size_t>(traits_.statistics);
  const bool statistics = traits_.statistics >= 0 && (argument == first || argument == first + 1);
  Use use{&record, &tensor, Role::kRead, traits_.written[argument], statistics};
  if (statistics) use.written = trains;
  if (use.written) {
    const bool whole = statistics || traits_.out[argument] || (traits_.overwrites && argument == 0);
    use.role = whole ? Role::kOverwritten : Role::kWritten;
  }
  uses_.push_back(use);
  if (is_parameter(tensor)) record.pinned = true;  // its recipe stays: what is evicted may start from it
  note_stream(record);
}

// Kernels, and autograd's for tangents, read and write them unseen: from now on they stay. A dense tensor has
// a tangent alone, and where ops come by themselves those that read it do, too.
void OpCall::read_parts(const at::TensorBase& tensor, bool written) {
  if (below_ == Below::kOps && is_dense(tensor)) return;
  TensorParts parts;
  append_parts(tensor, parts);
  for (const at::Tensor& part : parts) {
    const c10::Storage* const storage = served_storage(part);
    if (storage == nullptr) continue;
    StorageRecord& record = machine_.book.record_of(*storage);
    ++record.locks;
    record.pinned = true;
    parts_.push_back({&record, written});
  }
}

bool OpCall::appears_once(const Use& use) const {
  return std::count_if(uses_.begin(), uses_.end(),
                       [&](const Use& other) { return other.record == use.record; }) == 1;
}

// True if the op writes the same storage through another of its tensors; of several such the first counts.
bool OpCall::is_written_by_another(std::size_t at) const {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const bool before = i < at || uses_[at].role == Role::kRead;
    if (i != at && before && uses_[i].record == uses_[at].record && uses_[i].role == Role::kWritten)
      return true;
  }
  return false;
}

bool OpCall::is_used(const StorageRecord* record) const {
  return std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) { return use.record == record; });
}

void OpCall::bring_back() {
  for (const Use& use : uses_) {
    machine_.residency.restore(*use.record);
    use.record->last_use = machine_.op_number;
  }
  for (const Part& part : parts_) machine_.residency.restore(*part.record);
}

// What unseen code may go on reading, or may write later, stays.
void OpCall::pin_what_is_unsafe() {
  const bool hides = hidden_ && below_ != Below::kOps;
  const bool unsafe =
      !traits_.trusted || traits_.resizes || traits_.routes || hides || thread_.opaque > 0 || suspended();
  if (!unsafe) return;
  const bool collective = traits_.name.compare(0, 6, "c10d::") == 0;
  for (const Use& use : uses_) {
    use.record->pinned = true;
    if (collective) use.record->exposed = true;
  }
}

bool OpCall::may_record() const {
  if (below_ != Below::kPlain || !traits_.trusted || traits_.factory || traits_.resizes || !repeats(traits_))
    return false;
  if (hidden_ || thread_.opaque > 0 || unseen_op_runs() || c10::InferenceMode::is_enabled()) return false;
  if (called_by_kernel() && !traits_.random) return false;  // torch::rand_like looks like a kernel's call
  if (!parts_.empty())
    return false;  // of a dual tensor: autograd may run a decomposition in the kernel's place
  return std::all_of(uses_.begin(), uses_.end(), [&](const Use& use) {
    if (use.record->may_change()) return false;
    if (use.record->bytes > 0 && use.record->data == nullptr) return false;  // a zero tensor, resized
    if (!use.written || use.statistics) return true;
    if (is_parameter(*use.tensor)) return false;  // history ends at an optimizer's step
    return use.role == Role::kOverwritten || static_cast<bool>(use.record->current->recipe);
  });
}

Input OpCall::input_of(const Use& use) {
  Input input;
  if (use.role == Role::kOverwritten) return input;
  if (use.record->watch && !use.record->current->recipe) note_content(*use.record);
  const Ref<Value>& value = use.record->current;
  const std::uint64_t bytes = use.record->bytes;
  if (use.role == Role::kRead && !value->recipe && use.tensor->is_cpu() && bytes <= sizeof(Content)) {
    input.captured = std::make_unique<Content>();
    std::memcpy(input.captured->data(), use.tensor->storage().data(), bytes);
    return input;
  }
  input.value = value;
  depth_ = std::max(depth_, value->depth + 1);
  return input;
}

void OpCall::make_recipe(c10::ArrayRef<c10::IValue> arguments) {
  if (traits_.random && uses_.empty()) return;  // which device it draws on is not known here
  recipe_ = Ref<Recipe>(new Recipe);
  c10::SmallVector<Seen, 6> tensors;
  for (const Use& use : uses_) {
    recipe_->inputs.push_back(input_of(use));
    tensors.push_back({use.tensor, use.record->bytes, use.role});
  }
  if (depth_ > kDeepest) return recipe_.reset();
  recipe_->kind = machine_.kinds.kind_of(traits_, arguments, tensors);
  if (!recipe_->kind->environment.can_be_restored()) return recipe_.reset();
  if (traits_.random) note_random_state(arguments);
}

void OpCall::begin_draw(c10::ArrayRef<c10::IValue> arguments) {
  generator_ =
      generator_of(arguments, uses_.empty() ? std::optional<c10::Device>() : uses_[0].tensor->device());
  if (generator_.defined()) machine_.draws.begin(draw_, generator_.unsafeGetGeneratorImpl());
}

void OpCall::note_random_state(c10::ArrayRef<c10::IValue> arguments) {
  const Replaying how = replaying_of(traits_.drawing, *traits_.handle, arguments, recipe_->kind->cuda);
  if (how == Replaying::kNeedsNoState) return;
  if (how == Replaying::kIsImpossible || !draw_.alone) return recipe_.reset();
  recipe_->random = std::make_unique<RandomState>(generator_);
}

void OpCall::announce_writes() {
  for (const Use& use : uses_) {
    if (use.written) machine_.residency.before_write(*use.record, machine_.steps.driver().follows());
  }
  for (const Part& part : parts_) {
    if (part.written) machine_.residency.before_write(*part.record, machine_.steps.driver().follows());
  }
  for (const Use& use : uses_) {
    if (use.written) use.record->current->closing = true;
  }
  for (const Part& part : parts_) {
    if (part.written) part.record->current->closing = true;
  }
}

// What the thrash guard counts the op with: on CUDA what its size or, without a recipe, its launch costs.
std::uint64_t OpCall::guard_cost_ns(std::uint64_t took_ns) const {
  if (recipe_) return recipe_->kind->cuda ? recipe_->kind->cost_ns() : took_ns;
  const bool cuda = std::any_of(uses_.begin(), uses_.end(), [](const Use& use) {
    return use.record->alive() && use.record->address->device_type() == c10::kCUDA;
  });
  return cuda ? kLaunchNs : took_ns;
}

void OpCall::end(c10::ArrayRef<c10::IValue> results) {
  const std::uint64_t took_ns = now_ns() - started_ns_;
  const std::lock_guard<std::recursive_mutex> lock(machine_.mutex);
  ended_ = true;
  thread_.op_bytes = 0;
  const bool own = below_ != Below::kOps && traits_.trusted;  // else its time is that of the ops it called
  if (own) machine_.counters.ops_ns += took_ns;
  machine_.draws.end(draw_);
  if (recipe_ && recipe_->random && !draw_.alone) recipe_.reset();
  add_results(results);
  if (recipe_) {
    std::uint64_t made_bytes = 0;
    for (const StorageRecord* const record : made_) made_bytes += record->bytes;
    recipe_->kind->note_cost(took_ns, made_bytes);
    ++machine_.counters.recorded;
  }
  if (own) machine_.window_ops_ns += guard_cost_ns(took_ns);
  renew_written();
  if (machine_.steps.on()) {
    const std::uint64_t costs_ns = recipe_ ? recipe_->kind->cost_ns() : took_ns;
    machine_.steps.end_op(step_, costs_ns, {made_.data(), made_.size()});
  }
  if (hidden_ && below_ != Below::kOps) {
    for (const Use& use : uses_) use.record->pinned = true;
  }
  recipe_.reset();  // under the lock
  unlock();
  if (thread_.replaying == 0) machine_.tick(made_.size());
}

void OpCall::add_results(c10::ArrayRef<c10::IValue> results) {
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    if (const at::Tensor* const tensor = tensor_in(results[i])) {
      add_result(*tensor, i, -1);
    } else if (is_list_of_tensors(results[i])) {
      std::int32_t element = 0;
      for (const c10::IValue& listed : results[i].toListRef()) {
        if (const at::Tensor* const one = tensor_in(listed)) add_result(*one, i, element);
        ++element;
      }
    }
  }
}

void OpCall::add_result(const at::TensorBase& tensor, std::uint32_t index, std::int32_t element) {
  if (!has_plain_memory(tensor)) {
    hidden_ = hidden_ || !is_meta(tensor);
    return;
  }
  const c10::Storage& storage = tensor.storage();
  if (storage.nbytes() == 0 || storage.data() == nullptr) return;
  if (StorageRecord* const known = machine_.book.find(storage.unsafeGetStorageImpl())) {
    const bool ours = is_used(known) || std::find(made_.begin(), made_.end(), known) != made_.end();
    if (!ours && below_ != Below::kOps) known->pinned = true;  // it came from nowhere that was seen
    return;
  }
  StorageRecord& record = machine_.book.add(storage, new_value(false, index, element, storage.nbytes()));
  record.last_use = machine_.op_number;
  record.exposed = is_written_unseen(*storage.unsafeGetStorageImpl()) ||
                   (!traits_.trusted && traits_.name.compare(0, 6, "c10d::") == 0);
  note_stream(record);
  made_.push_back(&record);
}

Ref<Value> OpCall::new_value(bool written, std::uint32_t index, std::int32_t element, std::uint64_t bytes) {
  Ref<Value> value(new Value);
  if (recipe_) value->set_recipe(recipe_, depth_, written, index, element, bytes);
  return value;
}

void OpCall::renew_written() {
  for (std::uint32_t i = 0; i < uses_.size(); ++i) {
    StorageRecord& record = *uses_[i].record;
    if (!uses_[i].written || !record.current->closing || !record.alive()) continue;
    const c10::StorageImpl& impl = *record.address;
    const bool moved = impl.nbytes() != record.bytes || impl.data() != record.data;
    if (moved) record.pinned = true;
    const bool plain_leaf = moved || uses_[i].statistics;
    machine_.book.overwrite(record,
                            plain_leaf ? Ref<Value>(new Value) : new_value(true, i, -1, record.bytes));
  }
  for (const Part& part : parts_) {
    if (part.written && part.record->current->closing && part.record->alive())
      machine_.book.overwrite(*part.record, Ref<Value>(new Value));
  }
}

}  // namespace stowage::recompute
