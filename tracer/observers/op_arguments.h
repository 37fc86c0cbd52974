// Reads which storages an op's arguments and results use, without touching them. Private to the op observer.
//
// Thread safety: reads only; the caller is inside the op whose values these are.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/util/SmallVector.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>

#include "tracer/recorder/recorder.h"

namespace stowage::tracer {

using Uses = c10::SmallVector<OpRecord::Use, 8>;

/// A tensor that an op writes to: looked at again when the op ends. Weak, so that nobody sees one more owner.
using WrittenTensors =
    c10::SmallVector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>, 2>;

struct Arguments {
  Uses uses;
  WrittenTensors written;
  c10::Device device{c10::kCPU};  ///< of the first accelerator tensor or device argument, else the CPU
};

/// Reads `values`; bit i of `written_mask` says that argument i is written to.
void read_arguments(c10::ArrayRef<c10::IValue> values, std::uint64_t written_mask, Arguments& arguments);

/// Appends the storages of `value`'s tensors that lie on `device`. A copy between devices has some on
/// another: these are not its recorder's.
void append_uses(const c10::IValue& value, c10::Device device, Uses& uses);
/// Appends the storage of `tensor`, if it has one with memory on `device`.
void append_use(const c10::TensorImpl& tensor, c10::Device device, Uses& uses);

}  // namespace stowage::tracer
