#include "recompute/interposer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <exception>
#include <mutex>

#include "recompute/machine.h"
#include "recompute/op_call.h"
#include "recompute/op_traits.h"

namespace stowage::recompute {
namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::DeferredInit;

// Kernels, autograd and version counting. Anything else below us is a mode, a subclass or a lazy bit
// (conjugate, …).
constexpr c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
                                          c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA,
                                          c10::DispatchKey::AutogradOther, c10::DispatchKey::ADInplaceOrView,
                                          c10::DispatchKey::BackendSelect});

bool all_plain(c10::DispatchKeySet keys) { return (keys.raw_repr() & ~kPlainKeys.raw_repr()) == 0; }

// A few composites read index tensors through pointers (tensor_split, packed sequences): these are made
// resident.
void bring_back_indices(c10::ArrayRef<c10::IValue> arguments) {
  Machine& all = machine();
  if (!all.residency.any_away()) return;
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  for (const c10::IValue& argument : arguments) {
    if (!argument.isTensor() || !argument.toTensor().defined() || !argument.toTensor().has_storage())
      continue;
    const at::Tensor& tensor = argument.toTensor();
    if (!c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false)) continue;
    StorageRecord* const record = all.book.find(tensor.storage().unsafeGetStorageImpl());
    if (record == nullptr) continue;
    all.residency.restore(*record);
    record->pinned = true;
  }
}

void run_seen(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
              torch::jit::Stack* stack) {
  const bool plain = all_plain(below);
  OpCall call(traits, plain);
  call.begin(torch::jit::last(*stack, traits.arguments));
  if (plain && traits.trusted) {
    const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKeySet{kKey});
    op.redispatchBoxed(below, stack);
  } else {
    op.redispatchBoxed(below, stack);  // what it calls comes by itself
  }
  call.end(torch::jit::last(*stack, traits.returns));
}

void on_op(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (!machine().on.load(std::memory_order_relaxed)) {
    take_part(false);
    return op.redispatchBoxed(below, stack);
  }
  // Recorded below autocast: it calls the op again, with casts as ops of their own.
  if (below.has_any(c10::autocast_dispatch_keyset)) return op.redispatchBoxed(below, stack);
  const OpTraits& traits = traits_of(op);
  if (traits.composite) {
    bring_back_indices(torch::jit::last(*stack, traits.arguments));
    return op.redispatchBoxed(below, stack);
  }
  run_seen(op, traits, below, stack);
}

// Ops of which nothing needs to be known cost nothing either: the dispatcher does not stop at the key for
// them.
void let_pass() {
  auto* const library = new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op && traits_of(*op).passes)
      library->impl(traits_of(*op).name.c_str(), torch::CppFunction::makeFallthrough());
  }
}

}  // namespace

Status register_interposer() {
  static std::mutex making;
  static torch::Library* registered = nullptr;
  const std::lock_guard<std::mutex> lock(making);
  if (registered != nullptr) return {};
  try {
    auto* const library = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&on_op>());
    registered = library;
    let_pass();
    return {};
  } catch (const std::exception& error) {
    return Error{
        ErrorCode::kUnsupported,
        std::string("another library has taken the dispatch key that a budget needs (DeferredInit); run "
                    "without it or without a budget. PyTorch says: ") +
            error.what()};
  }
}

void take_part(bool on) { c10::impl::tls_set_dispatch_key_included(kKey, on); }

bool takes_part() {
  return c10::impl::tls_is_dispatch_key_included(kKey) || c10::impl::tls_is_dispatch_key_excluded(kKey);
}

}  // namespace stowage::recompute
