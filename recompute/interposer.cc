#include "recompute/interposer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>

#include "recompute/argument.h"
#include "recompute/machine.h"
#include "recompute/op_call.h"
#include "recompute/op_traits.h"
#include "recompute/python_dispatch.h"
#include "recompute/tensor_memory.h"
#include "recompute/tensor_parts.h"

namespace stowage::recompute {
namespace {

constexpr c10::DispatchKey kKey = c10::DispatchKey::DeferredInit;

// Dense kernels, autograd and version counting.
constexpr c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
                                          c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA,
                                          c10::DispatchKey::AutogradOther, c10::DispatchKey::ADInplaceOrView,
                                          c10::DispatchKey::BackendSelect});

// Kernels for other kinds of tensors. They take tensors apart and read memory through pointers.
constexpr std::array kKernelKeys = {
    c10::DispatchKey::SparseCPU,       c10::DispatchKey::SparseCUDA,
    c10::DispatchKey::SparseCsrCPU,    c10::DispatchKey::SparseCsrCUDA,
    c10::DispatchKey::QuantizedCPU,    c10::DispatchKey::QuantizedCUDA,
    c10::DispatchKey::NestedTensorCPU, c10::DispatchKey::NestedTensorCUDA,
    c10::DispatchKey::MkldnnCPU,       c10::DispatchKey::AutogradNestedTensor};

// Newer torches have no named tensors.
template <class Key>
constexpr c10::DispatchKeySet named_key() {
  if constexpr (requires { Key::Named; }) return c10::DispatchKeySet(Key::Named);
  return {};
}

// Anything else is a mode, a subclass or a transform.
constexpr c10::DispatchKeySet one_call_keys() {
  c10::DispatchKeySet keys = kPlainKeys | kLazyKeys | named_key<c10::DispatchKey>();
  for (const c10::DispatchKey key : kKernelKeys) keys = keys | c10::DispatchKeySet(key);
  return keys;
}
constexpr c10::DispatchKeySet kOneCallKeys = one_call_keys();

bool has_only(c10::DispatchKeySet keys, c10::DispatchKeySet among) {
  return (keys.raw_repr() & ~among.raw_repr()) == 0;
}

Below below_of(c10::DispatchKeySet keys) {
  if (has_only(keys, kPlainKeys)) return Below::kPlain;
  return has_only(keys, kOneCallKeys) ? Below::kKernel : Below::kOps;
}

// True if a composite has a kernel of its own for the kind of tensor that it is called with.
bool has_kernel_for(const c10::OperatorHandle& op, c10::DispatchKeySet below) {
  if (has_only(below, kPlainKeys)) return false;
  if (below.has(c10::DispatchKey::AutogradNestedTensor) &&
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutogradNestedTensor))
    return true;
  return std::any_of(kKernelKeys.begin(), kKernelKeys.end(),
                     [&](c10::DispatchKey key) { return below.has(key) && op.hasKernelForDispatchKey(key); });
}

void bring_back_for_good(const at::TensorBase& tensor) {
  const c10::Storage* const storage = served_storage(tensor);
  if (storage == nullptr) return;
  StorageRecord* const record = machine().book.find(storage->unsafeGetStorageImpl());
  if (record == nullptr) return;
  machine().residency.restore(*record);
  record->pinned = true;
}

// A few composites read index tensors through pointers (tensor_split, packed sequences), or the sizes of
// nested ones: these are made resident.
void bring_back_indices(c10::ArrayRef<c10::IValue> arguments) {
  Machine& all = machine();
  if (!all.residency.any_away()) return;
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  TensorParts parts;
  for (const c10::IValue& argument : arguments) {
    const at::Tensor* const tensor = tensor_in(argument);
    if (tensor == nullptr) continue;
    if (c10::isIntegralType(tensor->scalar_type(), /*includeBool=*/false)) bring_back_for_good(*tensor);
    if (!is_dense(*tensor)) append_parts(*tensor, parts);
  }
  for (const at::Tensor& part : parts) bring_back_for_good(part);
}

// Code of others, which may keep pointers: what the ops that it calls read and make stays.
class OpaqueScope {
 public:
  explicit OpaqueScope(bool opaque) : depth_(opaque ? 1 : 0) { opaque_depth() += depth_; }
  OpaqueScope(const OpaqueScope&) = delete;
  OpaqueScope& operator=(const OpaqueScope&) = delete;
  ~OpaqueScope() { opaque_depth() -= depth_; }

 private:
  const int depth_;
};

void run_seen(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
              torch::jit::Stack* stack) {
  const Below kind = below_of(below);
  OpCall call(traits, kind);
  call.begin(torch::jit::last(*stack, traits.arguments));
  if (kind != Below::kOps && traits.trusted) {
    const c10::impl::ExcludeDispatchKeyGuard off(c10::DispatchKeySet{kKey});
    op.redispatchBoxed(below, stack);
  } else {
    const OpaqueScope scope(kind != Below::kOps);
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
  if (traits.composite && !has_kernel_for(op, below)) {
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
    see_python_dispatch();
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

bool ignores_lazy_bits() { return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Conjugate); }

// Autograd excludes the keys above kernels, and only these.
bool called_by_kernel() {
  return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView) && !ignores_lazy_bits();
}

SeenAgain::SeenAgain() : excluded_(replaying_here() == 0 && c10::impl::tls_is_dispatch_key_excluded(kKey)) {
  if (excluded_) c10::impl::tls_set_dispatch_key_excluded(kKey, false);
}

SeenAgain::~SeenAgain() {
  if (excluded_) c10::impl::tls_set_dispatch_key_excluded(kKey, true);
}

}  // namespace stowage::recompute
