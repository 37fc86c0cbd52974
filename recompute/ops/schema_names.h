// Names of operators and of their arguments.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace stowage::recompute {

using Name = std::string_view;

template <std::size_t kCount>
bool among(const std::array<Name, kCount>& names, Name name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "add" of "aten::add". Requires: `schema` outlives it.
inline Name plain_name(const c10::FunctionSchema& schema) {
  const Name whole = schema.name();
  const std::size_t colon = whole.rfind(':');
  return colon == Name::npos ? whole : whole.substr(colon + 1);
}

/// Which of its arguments has this name.
inline std::optional<std::size_t> position_of(const c10::FunctionSchema& schema, Name name) {
  const auto& arguments = schema.arguments();
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const c10::Argument& one) { return one.name() == name; });
  if (found == arguments.end()) return std::nullopt;
  return static_cast<std::size_t>(found - arguments.begin());
}

}  // namespace stowage::recompute
