#include "simulator/device/kernels/kernels.h"

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stowage::simulator {
namespace {

struct Variable {
  std::uint64_t bytes = 0;
  void* storage = nullptr;
};

struct Registry {
  std::mutex lock;
  std::vector<std::pair<const void*, const char*>> fresh;  // registered since the last look-up
  std::unordered_map<const void*, const char*> kernels;
  std::unordered_map<const void*, Variable> variables;
};

Registry& registry() {
  static Registry* const kRegistry = new Registry;  // libraries register and leave in any order
  return *kRegistry;
}

}  // namespace

void register_kernel(const void* host_function, const char* mangled_name) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.lock);
  all.fresh.emplace_back(host_function, mangled_name);
}

const char* kernel_name(const void* host_function) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.lock);
  for (const auto& [function, name] : all.fresh) all.kernels[function] = name;
  all.fresh.clear();
  const auto found = all.kernels.find(host_function);
  return found == all.kernels.end() ? "" : found->second;
}

void register_variable(const void* host_variable, std::uint64_t bytes) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.lock);
  all.variables[host_variable].bytes = bytes;
}

bool is_variable(std::uintptr_t address) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.lock);
  for (const auto& [name, variable] : all.variables) {
    const auto begin = reinterpret_cast<std::uintptr_t>(variable.storage);
    if (variable.storage != nullptr && address - begin < variable.bytes) return true;
  }
  return false;
}

void* variable_storage(const void* host_variable, std::uint64_t* bytes) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> guard(all.lock);
  const auto found = all.variables.find(host_variable);
  if (found == all.variables.end()) return nullptr;
  if (found->second.storage == nullptr) found->second.storage = std::calloc(1, found->second.bytes);
  *bytes = found->second.bytes;
  return found->second.storage;
}

}  // namespace stowage::simulator
