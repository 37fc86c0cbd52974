#include "simulator/pointers.h"

#include <cxxabi.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "simulator/kernels.h"
#include "simulator/misuse.h"

namespace stowage::simulator {
namespace {

constexpr std::uintptr_t kNearNull = std::uintptr_t{1} << 20;
std::atomic<std::int64_t> checked{0};

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

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    const char letter = at == list.size() ? ',' : list[at];
    if (std::strchr("(<[{", letter) != nullptr) ++depth;
    if (std::strchr(")>]}", letter) != nullptr) --depth;
    if (letter != ',' || (depth != 0 && at < list.size())) continue;
    parts.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return parts;
}

std::string_view trimmed(std::string_view type) {
  while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
  for (const std::string_view end : {" const", " __restrict", " restrict", " "}) {
    while (type.size() >= end.size() && type.substr(type.size() - end.size()) == end)
      type.remove_suffix(end.size());
  }
  return type;
}

std::size_t pointers_in(std::string_view type) {
  type = trimmed(type);
  if (!type.empty() && type.back() == '*') return 1;
  constexpr std::string_view kArray = "std::array<char*, ";
  if (type.substr(0, kArray.size()) == kArray) {
    std::size_t count = 0;
    std::from_chars(type.data() + kArray.size(), type.data() + type.size(), count);
    return count;
  }
  for (const std::string_view view : {"at::cuda::detail::TensorInfo<", "at::GenericPackedTensorAccessor<"})
    if (type.substr(0, view.size()) == view) return 1;
  return 0;
}

struct Known {
  std::mutex lock;
  std::unordered_map<const void*, std::vector<PointerArgument>> of;
};

const std::vector<PointerArgument>& known_arguments(const void* host_function) {
  static Known* const kKnown = new Known;
  const std::lock_guard<std::mutex> guard(kKnown->lock);
  const auto [at, fresh] = kKnown->of.try_emplace(host_function);
  if (fresh) {
    at->second = pointer_arguments(kernel_name(host_function));
    if (at->second.empty() && settings().verbose)
      std::fprintf(stderr, "stowage simulator: the arguments of %s are not looked at\n",
                   kernel_name(host_function));
  }
  return at->second;  // stays where it is
}

bool is_there(Machine& machine, std::uintptr_t address) {
  if (const DeviceMemory* const memory = machine.memory_of(address))
    return memory->is_live(address) || memory->is_live(address - 1);
  return machine.host_memory.contains(address) || is_variable(address);
}

}  // namespace

std::vector<PointerArgument> pointer_arguments(const char* mangled_name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled_name, nullptr, nullptr, &status), &std::free);
  std::vector<PointerArgument> found;
  if (text == nullptr) return found;
  std::size_t index = 0;
  for (const std::string_view type : split(parameter_list(text.get()))) {
    if (const std::size_t pointers = pointers_in(type); pointers > 0) found.push_back({index, pointers});
    ++index;
  }
  return found;
}

CUresult check_pointer(const void* pointer, const char* user) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  ++checked;
  if (address < kNearNull) return CUDA_SUCCESS;
  {
    Machine& machine = Machine::get();
    const std::lock_guard<std::mutex> guard(machine.lock);
    if (is_there(machine, address)) return CUDA_SUCCESS;
  }
  return misuse(CUDA_ERROR_ILLEGAL_ADDRESS, "%s was given %#lx, where no memory of the device is", user,
                address);
}

CUresult check_pointers(std::initializer_list<const void*> pointers, const char* user) {
  for (const void* pointer : pointers)
    if (const auto wrong = check_pointer(pointer, user)) return wrong;
  return CUDA_SUCCESS;
}

CUresult check_arguments(const void* host_function, void** arguments) {
  if (arguments == nullptr) return CUDA_SUCCESS;
  for (const PointerArgument& argument : known_arguments(host_function)) {
    for (std::size_t i = 0; i < argument.pointers; ++i) {
      const void* pointer = nullptr;
      std::memcpy(&pointer, static_cast<const char*>(arguments[argument.index]) + i * sizeof pointer,
                  sizeof pointer);
      if (const auto wrong = check_pointer(pointer, kernel_name(host_function))) return wrong;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace stowage::simulator

extern "C" __attribute__((visibility("default"))) int64_t stowage_sim_checked_pointers(void) {
  return stowage::simulator::checked;
}
