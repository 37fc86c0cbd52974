#include "plugin/cpu/cpu_port.h"

#include <malloc.h>
#include <sys/mman.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

#include "allocator/arena/host_backend.h"
#include "core/support/host_memory.h"
#include "recompute/planned.h"

namespace stowage::plugin {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

constexpr std::size_t kLarge = std::size_t{128} << 10;  // glibc's initial threshold for own pages
constexpr std::size_t kPage = 4096;

// The bytes that the heap holds for a block. A large one counts as whole pages: it has pages of its own or
// lies in what is free between others, which differs from run to run.
std::size_t counted(void* address) noexcept {
  const std::size_t bytes = malloc_usable_size(address);
  return bytes < kLarge ? bytes : (bytes + kPage - 1) / kPage * kPage;
}

// As PyTorch's own CPU allocator, which has its memory in small pages otherwise.
bool wants_huge_pages() {
  const char* const wanted = std::getenv("THP_MEM_ALLOC_ENABLE");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

}  // namespace

TraceInfo CpuPort::describe() {
  TraceInfo info;
  info.device_name = "CPU";
  info.torch_version = TORCH_VERSION;
  info.job = job_.empty() ? command_line() : job_;
  info.device_memory = host_memory();
  return info;
}

Result<std::unique_ptr<allocator::Arena>> CpuPort::map_arena(Bytes bytes, allocator::Backing backing) {
  // Reserve address space for plans of further kinds of iteration. If that fails, the arena just cannot grow.
  const allocator::HostBackend host(wants_huge_pages());
  auto roomy = allocator::make_arena(host, std::max(bytes, host_memory()), bytes, backing);
  if (roomy.ok()) return roomy;
  return allocator::make_arena(host, bytes, bytes, backing);
}

Bytes CpuPort::arena_page() { return allocator::HostBackend{}.granularity(); }

void CpuPort::release_upstream_cache() {
  while (release_oldest()) {
  }
  malloc_trim(0);
}

session::UpstreamUse CpuPort::upstream_use() {
  const Bytes held = ledger_.upstream();
  const Bytes peak = ledger_.peak_upstream();
  return {saturating_sub(held, kept_.counted()), held, peak, peak};
}

Bytes CpuPort::decommit(void* address, Bytes bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes.value()) / page * page;
  if (last <= first) return Bytes(0);
  const bool done = madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0;
  return Bytes(done ? last - first : 0);
}

std::uint64_t CpuPort::record_fence(StreamId) { return 0; }
bool CpuPort::fence_passed(std::uint64_t) { return true; }

void CpuPort::note_taken(void* address) noexcept { ledger_.take(Bytes(counted(address))); }

void CpuPort::note_found(void* address) noexcept { ledger_.take_found(Bytes(counted(address))); }

void CpuPort::note_given_back(void* address) noexcept {
  const std::size_t bytes = counted(address);
  ledger_.give(Bytes(bytes));
  tell(-static_cast<std::int64_t>(bytes));
}

// For a schedule's log: what tensors hold, without kept blocks. Only needed under a limit.
void CpuPort::tell(std::int64_t delta) noexcept {
  if (ledger_.limited()) note_memory(delta);
}

void CpuPort::note_memory(std::int64_t delta) noexcept {
  const std::uint64_t held = ledger_.in_tensors().value();
  recompute::Planned::note_memory(delta, held - std::min(held, kept_.counted().value()));
}

void CpuPort::on_arena_use(std::int64_t delta) {
  ledger_.add_in_arena(delta);
  note_memory(delta);
}

// Small blocks are rounded up and cut to PyTorch's alignment; large ones may have pages of their own.
Bytes CpuPort::most_held(std::size_t bytes) noexcept {
  constexpr std::size_t kSmall = std::size_t{32} << 10;
  constexpr std::size_t kHeader = 256;
  return Bytes(bytes + kHeader + (bytes < kSmall ? 0 : kPage));
}

void CpuPort::note_settled(void* address, Bytes reserved) noexcept {
  const std::size_t bytes = counted(address);
  ledger_.settle(reserved, Bytes(bytes));
  tell(static_cast<std::int64_t>(bytes));
}

void CpuPort::return_memory_at_once() noexcept {
  // Setting it stops glibc from raising it.
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
  malloc_trim(0);
}

// As soon as it is kept, another thread may free it.
bool CpuPort::keep(void* address) noexcept {
  const std::size_t bytes = counted(address);
  if (!ledger_.met() || !kept_.keep(address, malloc_usable_size(address), bytes)) return false;
  tell(-static_cast<std::int64_t>(bytes));
  return true;
}

void* CpuPort::reuse(std::size_t bytes) noexcept {
  void* const kept = kept_.take(bytes);
  if (kept != nullptr) tell(static_cast<std::int64_t>(counted(kept)));
  return kept;
}

bool CpuPort::release_oldest() noexcept {
  void* const address = kept_.oldest();
  if (address == nullptr) return false;
  ledger_.give(Bytes(counted(address)));
  free_(address);
  return true;
}

}  // namespace stowage::plugin
