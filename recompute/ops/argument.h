// What an argument or a result of a boxed call is. Asked of each of them at each op, so what can be seen from
// an IValue's tag is looked at first.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace stowage::recompute {

inline bool is_defined_tensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}

/// The tensor, or null where it is none or an undefined one.
inline const at::Tensor* tensor_in(const c10::IValue& value) {
  return is_defined_tensor(value) ? &value.toTensor() : nullptr;
}

inline bool is_list_of_tensors(const c10::IValue& value) {
  return value.isList() && (value.isTensorList() || value.isOptionalTensorList());
}

/// Numbers that may be of several types, as foreach ops take them: one for each tensor.
inline bool is_list_of_numbers(const c10::IValue& value) {
  return value.isList() && value.toList().elementType()->kind() == c10::TypeKind::NumberType;
}

/// True if keeping the value keeps no tensor alive and no one else can change it, once lists are copied.
inline bool is_plain(const c10::IValue& value) {
  if (value.isTensor()) return !value.toTensor().defined();
  if (value.isList()) {
    return value.isIntList() || value.isDoubleList() || value.isBoolList() || is_list_of_numbers(value);
  }
  return value.isNone() || value.isInt() || value.isDouble() || value.isBool() || value.isComplexDouble() ||
         value.isString() || value.isDevice() || value.isGenerator();
}

}  // namespace stowage::recompute
