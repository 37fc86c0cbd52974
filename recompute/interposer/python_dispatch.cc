#include "recompute/interposer/python_dispatch.h"

#include <c10/core/TensorImpl.h>
#include <c10/core/impl/PyInterpreter.h>
#include <c10/core/impl/PyInterpreterHooks.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>

#include "recompute/threads/seen_thread.h"

namespace stowage::recompute {
namespace {

using c10::TensorImpl;
using c10::impl::PyInterpreter;
using c10::impl::PyInterpreterVTable;

// Everything is passed on to PyTorch's own table; dispatch() with the interposer's key in force.
class SeeingTable final : public PyInterpreterVTable {
 public:
  explicit SeeingTable(const PyInterpreterVTable& own) : own_(own) {}

  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack) const override {
    const SeenAgain seen;
    own_.dispatch(op, stack);
  }

  std::string name() const override { return own_.name(); }
  void incref(PyObject* object) const override { own_.incref(object); }
  void decref(PyObject* object) const override { own_.decref(object); }
  bool try_incref(const c10::impl::PyObjectSlot& slot) const override { return own_.try_incref(slot); }
  size_t refcnt(PyObject* object) const override { return own_.refcnt(object); }
  c10::intrusive_ptr<TensorImpl> detach(const TensorImpl* self) const override { return own_.detach(self); }
  void reportErrorCallback(PyObject* callback, c10::DispatchKey key) const override {
    own_.reportErrorCallback(callback, key);
  }
  void python_op_registration_trampoline(const c10::OperatorHandle& op, c10::DispatchKey key,
                                         c10::DispatchKeySet keys, torch::jit::Stack* stack, bool with_keys,
                                         bool with_op) const override {
    own_.python_op_registration_trampoline(op, key, keys, stack, with_keys, with_op);
  }
  void throw_abstract_impl_not_imported_error(std::string op, const char* module,
                                              const char* context) const override {
    own_.throw_abstract_impl_not_imported_error(std::move(op), module, context);
  }
  void python_dispatcher(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         torch::jit::Stack* stack) const override {
    own_.python_dispatcher(op, keys, stack);
  }
  void reset_backward_hooks(const TensorImpl* self) const override { own_.reset_backward_hooks(self); }

  bool is_contiguous(const TensorImpl* self, at::MemoryFormat format) const override {
    return own_.is_contiguous(self, format);
  }
  c10::SymBool sym_is_contiguous(const TensorImpl* self, at::MemoryFormat format) const override {
    return own_.sym_is_contiguous(self, format);
  }
  bool is_strides_like(const TensorImpl* self, at::MemoryFormat format) const override {
    return own_.is_strides_like(self, format);
  }
  bool is_non_overlapping_and_dense(const TensorImpl* self) const override {
    return own_.is_non_overlapping_and_dense(self);
  }
  c10::Device device(const TensorImpl* self) const override { return own_.device(self); }
  int64_t dim(const TensorImpl* self) const override { return own_.dim(self); }
  c10::IntArrayRef strides(const TensorImpl* self) const override { return own_.strides(self); }
  c10::IntArrayRef sizes(const TensorImpl* self) const override { return own_.sizes(self); }
  c10::SymIntArrayRef sym_sizes(const TensorImpl* self) const override { return own_.sym_sizes(self); }
  c10::Layout layout(const TensorImpl* self) const override { return own_.layout(self); }
  int64_t numel(const TensorImpl* self) const override { return own_.numel(self); }
  c10::SymInt sym_numel(const TensorImpl* self) const override { return own_.sym_numel(self); }
  c10::SymIntArrayRef sym_strides(const TensorImpl* self) const override { return own_.sym_strides(self); }
  c10::SymInt sym_storage_offset(const TensorImpl* self) const override {
    return own_.sym_storage_offset(self);
  }

  void trace_gpu_event_creation(c10::DeviceType type, uintptr_t event) const override {
    own_.trace_gpu_event_creation(type, event);
  }
  void trace_gpu_event_deletion(c10::DeviceType type, uintptr_t event) const override {
    own_.trace_gpu_event_deletion(type, event);
  }
  void trace_gpu_event_record(c10::DeviceType type, uintptr_t event, uintptr_t stream) const override {
    own_.trace_gpu_event_record(type, event, stream);
  }
  void trace_gpu_event_wait(c10::DeviceType type, uintptr_t event, uintptr_t stream) const override {
    own_.trace_gpu_event_wait(type, event, stream);
  }
  void trace_gpu_memory_allocation(c10::DeviceType type, uintptr_t address) const override {
    own_.trace_gpu_memory_allocation(type, address);
  }
  void trace_gpu_memory_deallocation(c10::DeviceType type, uintptr_t address) const override {
    own_.trace_gpu_memory_deallocation(type, address);
  }
  void trace_gpu_stream_creation(c10::DeviceType type, uintptr_t stream) const override {
    own_.trace_gpu_stream_creation(type, stream);
  }
  void trace_gpu_device_synchronization(c10::DeviceType type) const override {
    own_.trace_gpu_device_synchronization(type);
  }
  void trace_gpu_stream_synchronization(c10::DeviceType type, uintptr_t stream) const override {
    own_.trace_gpu_stream_synchronization(type, stream);
  }
  void trace_gpu_event_synchronization(c10::DeviceType type, uintptr_t event) const override {
    own_.trace_gpu_event_synchronization(type, event);
  }

 private:
  const PyInterpreterVTable& own_;
};

}  // namespace

void see_python_dispatch() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      PyInterpreter* const python = c10::impl::getGlobalPyInterpreter();
      python->vtable_ = new SeeingTable(*python->vtable_);  // lives for ever, as the interpreter does
    } catch (const c10::Error&) {                           // no Python: nothing to see
    }
  });
}

}  // namespace stowage::recompute
