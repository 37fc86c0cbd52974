#include "simulator/device/pointers.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/device/kernels/arguments.h"
#include "simulator/device/kernels/kernels.h"
#include "simulator/device/memory/misuse.h"

namespace stowage::simulator {
namespace {

constexpr std::uintptr_t kNearNull = std::uintptr_t{1} << 20;
std::atomic<std::int64_t> checked{0};
std::atomic<std::int64_t> looked_at{0};

struct Known {
  std::mutex lock;
  std::unordered_map<const void*, KnownArguments> of;
  std::map<std::string, std::int64_t> unseen;  // launches, by the name of what was launched
};

Known& known() {
  static Known* const kKnown = new Known;  // jobs launch until the very end
  return *kKnown;
}

const KnownArguments& known_of(const void* host_function) {
  Known& all = known();
  const std::lock_guard<std::mutex> guard(all.lock);
  const auto [at, fresh] = all.of.try_emplace(host_function);
  if (fresh) at->second = known_arguments(kernel_name(host_function));
  return at->second;  // stays where it is
}

bool is_there(Machine& machine, std::uintptr_t address) {
  if (const DeviceMemory* const memory = machine.memory_of(address))
    return memory->is_live(address) || memory->is_live(address - 1);
  return machine.host_memory.contains(address) || is_variable(address);
}

template <typename Pointers>
CUresult check_all(const Pointers& pointers, const char* user) {
  for (const void* pointer : pointers)
    if (const auto wrong = check_pointer(pointer, user)) return wrong;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult check_pointer(const void* pointer, const char* user) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  ++checked;
  if (address < kNearNull) return CUDA_SUCCESS;
  {
    Machine& machine = Machine::get();
    const std::lock_guard<std::mutex> guard(machine.lock);
    if (!machine.captures.empty()) given().push_back({pointer, user});
    if (is_there(machine, address)) return CUDA_SUCCESS;
  }
  return misuse(CUDA_ERROR_ILLEGAL_ADDRESS, "%s was given %#lx, where no memory of the device is", user,
                address);
}

void note_unseen(const char* user) {
  Known& all = known();
  const std::lock_guard<std::mutex> guard(all.lock);
  ++all.unseen[user];
}

void print_unseen() {
  Known& all = known();
  const std::lock_guard<std::mutex> guard(all.lock);
  for (const auto& [name, launches] : all.unseen)
    std::fprintf(stderr, "stowage simulator: nothing that %s was given was looked at, %ld times\n",
                 name.c_str(), launches);
}

CUresult check_pointers(std::initializer_list<const void*> pointers, const char* user) {
  ++looked_at;
  return check_all(pointers, user);
}

CUresult check_arguments(const void* host_function, void** arguments, std::uint64_t blocks) {
  const char* const name = kernel_name(host_function);
  const KnownArguments* const known = arguments == nullptr ? nullptr : &known_of(host_function);
  if (known == nullptr || known->empty()) {
    note_unseen(name);
    return CUDA_SUCCESS;
  }
  ++looked_at;
  for (const PointerRun& run : known->runs) {
    std::vector<const void*> pointers(run.pointers);
    std::memcpy(pointers.data(), static_cast<const char*>(arguments[run.argument]) + run.offset,
                run.pointers * sizeof(void*));
    if (const auto wrong = check_all(pointers, name)) return wrong;
  }
  for (const auto& [index, layout] : known->lists)
    if (const auto wrong = check_all(addresses_in(layout, arguments[index], blocks), name)) return wrong;
  return CUDA_SUCCESS;
}

void reset_pointer_counts() {
  checked = 0;
  looked_at = 0;
  Known& all = known();
  const std::lock_guard<std::mutex> guard(all.lock);
  all.unseen.clear();
}

}  // namespace stowage::simulator

extern "C" {
__attribute__((visibility("default"))) int64_t stowage_sim_checked_pointers(void) {
  return stowage::simulator::checked;
}

__attribute__((visibility("default"))) int64_t stowage_sim_checked_launches(void) {
  return stowage::simulator::looked_at;
}
}
