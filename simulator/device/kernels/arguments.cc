#include "simulator/device/kernels/arguments.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace stowage::simulator {
namespace {

// The parameter list of a demangled signature: what stands between the last pair of parentheses.
std::string_view parameter_list(std::string_view signature) {
  if (signature.empty() || signature.back() != ')') return {};
  int depth = 0;
  for (std::size_t at = signature.size(); at-- > 0;) {
    if (signature[at] == ')') ++depth;
    if (signature[at] == '(' && --depth == 0) return signature.substr(at + 1, signature.size() - at - 2);
  }
  return {};
}

std::string_view trimmed(std::string_view type) {
  while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
  for (const std::string_view end : {" const", " __restrict", " restrict", " "}) {
    while (type.ends_with(end)) type.remove_suffix(end.size());
  }
  return type;
}

std::size_t leading_pointers(std::string_view type) {
  if (type.ends_with('*')) return 1;
  constexpr std::string_view kArray = "std::array<char*, ";
  if (type.starts_with(kArray)) {
    std::size_t count = 0;
    std::from_chars(type.data() + kArray.size(), type.data() + type.size(), count);
    return count;
  }
  for (const std::string_view view : {"at::cuda::detail::TensorInfo<", "at::GenericPackedTensorAccessor<",
                                      "torch::headeronly::detail::GenericPackedTensorAccessor<"})
    if (type.starts_with(view)) return 1;
  return 0;
}

std::vector<PointerRun> runs_in(std::string_view type) {
  if (const std::size_t pointers = leading_pointers(type); pointers > 0) return {{0, 0, pointers}};
  return runs_in_structure(type);
}

}  // namespace

std::vector<std::string_view> split_types(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    const char letter = at == list.size() ? ',' : list[at];
    if (std::strchr("(<[{", letter) != nullptr) ++depth;
    if (std::strchr(")>]}", letter) != nullptr) --depth;
    if (letter != ',' || (depth != 0 && at < list.size())) continue;
    parts.push_back(trimmed(list.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

KnownArguments known_arguments(const char* mangled_name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled_name, nullptr, nullptr, &status), &std::free);
  KnownArguments found;
  if (text == nullptr) return found;
  std::size_t index = 0;
  for (const std::string_view type : split_types(parameter_list(text.get()))) {
    if (const auto lists = tensor_lists(type)) found.lists.emplace_back(index, *lists);
    for (PointerRun run : runs_in(type)) {
      run.argument = index;
      found.runs.push_back(run);
    }
    ++index;
  }
  return found;
}

}  // namespace stowage::simulator
