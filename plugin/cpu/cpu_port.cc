#include "plugin/cpu/cpu_port.h"

#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "allocator/host_backend.h"

namespace stowage::plugin {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Bytes host_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return Bytes(0);
  return Bytes(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
}

}  // namespace

TraceInfo CpuPort::describe() {
  TraceInfo info;
  info.device = DeviceKind::kCpu;
  info.device_name = "CPU";
  info.torch_version = TORCH_VERSION;
  info.job = job_.empty() ? command_line() : job_;
  info.device_memory = host_memory();
  return info;
}

Result<std::unique_ptr<allocator::Arena>> CpuPort::map_arena(Bytes bytes) {
  // Room in addresses for the plans of further kinds of iteration; without it the arena cannot grow, no more.
  auto roomy = allocator::make_arena(allocator::HostBackend{}, std::max(bytes, host_memory()), bytes);
  if (roomy.ok()) return roomy;
  return allocator::make_arena(allocator::HostBackend{}, bytes, bytes);
}

void CpuPort::release_upstream_cache() { malloc_trim(0); }

UpstreamUse CpuPort::upstream_use() {
  const Bytes held(held_.load(std::memory_order_relaxed));
  const Bytes peak(peak_.load(std::memory_order_relaxed));
  return {held, held, peak, peak};
}

std::uint64_t CpuPort::record_fence(StreamId) { return 0; }
bool CpuPort::fence_passed(std::uint64_t) { return true; }

void CpuPort::note_taken(void* address) noexcept {
  const std::uint64_t bytes = malloc_usable_size(address);
  const std::uint64_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < held && !peak_.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
  }
}

void CpuPort::note_given_back(void* address) noexcept {
  held_.fetch_sub(malloc_usable_size(address), std::memory_order_relaxed);
}

}  // namespace stowage::plugin
