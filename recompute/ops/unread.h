// Tensors of which an op reads sizes and layout alone: a pooling's input in its backward pass, for instance.
// Their bytes need not be in memory while it runs.
//
// Source: the kernels of PyTorch. recompute_unread_test runs each op of the list with that memory unreadable,
// and STOWAGE_VERIFY replays it with other bytes there.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace c10 {
struct FunctionSchema;
}

namespace stowage::recompute {

struct OpTraits;

/// By argument, one bit each: those that no call of the op reads. `name`: without namespace and overload.
std::uint64_t never_read(std::string_view name, const c10::FunctionSchema& schema);

/// True if this call does not read the bytes of its argument `at`, a tensor.
bool is_unread(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, std::size_t at);

}  // namespace stowage::recompute
