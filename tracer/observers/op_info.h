// What an operator's schema says of all its calls, looked up once per operator. Private to the op observer.
//
// Thread safety: op_info_of from any thread.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <string>

namespace stowage::tracer {

struct OpInfo {
  std::string name;           ///< with overload, as in "aten::add.Tensor"
  std::uint32_t flags = 0;    ///< kOpInPlace, kOpRandom, kOpNondeterministic
  std::uint64_t written = 0;  ///< bit i: argument i is written to (first 64 arguments)
};

/// The operator that `call` calls, or null for what is no operator (engine and compiler scopes). Lives for
/// ever.
const OpInfo* op_info_of(const at::RecordFunction& call);

}  // namespace stowage::tracer
