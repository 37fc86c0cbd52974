#include "plugin/cuda/cuda_adaptor.h"

#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <exception>

#include "core/check.h"
#include "plugin/cuda/cuda_statistics.h"
#include "plugin/cuda/upstream_settings.h"
#include "plugin/notice.h"

namespace stowage::plugin {
namespace {

std::atomic<CudaAdaptor*> the_adaptor{nullptr};

}  // namespace

CudaAdaptor* cuda_adaptor() { return the_adaptor.load(std::memory_order_acquire); }

CudaAdaptor::CudaAdaptor(torch_cuda::CUDAAllocator& upstream) : upstream_(upstream) {
  STOWAGE_CHECK(the_adaptor.exchange(this) == nullptr, "one CUDA adaptor a process");
}

void CudaAdaptor::activate(const Settings& settings) {
  const std::lock_guard lock(making_);
  settings_ = settings;
  for (auto& device : devices_) {  // who gave up may try again
    const CudaDevice* before = device.load(std::memory_order_relaxed);
    if (before != nullptr && before->session.state() == SessionState::kOff) device.store(nullptr);
  }
  active_.store(true, std::memory_order_release);
}

void CudaAdaptor::deactivate() {
  std::vector<CudaDevice*> devices;
  {
    const std::lock_guard lock(making_);
    active_.store(false, std::memory_order_release);
    devices = all_devices_;
    for (auto& device : devices_) device.store(nullptr, std::memory_order_release);
    device_end_.store(0, std::memory_order_release);
  }
  for (CudaDevice* device : devices) device->session.stop();
}

void CudaAdaptor::rest() {
  {
    const std::lock_guard lock(making_);
    for (const auto& slot : devices_) {
      const CudaDevice* device = slot.load(std::memory_order_relaxed);
      if (device != nullptr && device->session.state() != SessionState::kOff) return;
    }
    active_.store(false, std::memory_order_release);
  }
  if (restore_upstream_settings() && upstream_.initialized()) upstream_.emptyCache();
}

bool CudaAdaptor::unreferenced() const {
  if (adopted_.load(std::memory_order_relaxed) != 0) return false;
  const std::lock_guard lock(making_);
  return std::all_of(all_devices_.begin(), all_devices_.end(),
                     [](CudaDevice* device) { return device->counters.use().blocks[0].current == 0; });
}

Session* CudaAdaptor::session_of(c10::DeviceIndex index) const {
  CudaDevice* device = known_device(index);
  return device == nullptr ? nullptr : &device->session;
}

StreamId CudaAdaptor::current_stream_of(c10::DeviceIndex index) const {
  CudaDevice* device = devices_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
  if (device == nullptr) return StreamId{0};
  return device->port.streams().id_of(c10::cuda::getCurrentCUDAStream(index).stream()).value_or(StreamId{0});
}

// Made with no lock held: under a budget Python's guards are placed, for which the interpreter is waited for.
CudaDevice* CudaAdaptor::make_device(c10::DeviceIndex index) {
  const auto slot = static_cast<std::size_t>(index);
  Settings settings;
  {
    const std::lock_guard lock(making_);
    CudaDevice* const device = devices_[slot].load(std::memory_order_acquire);
    if (device != nullptr || !active_.load(std::memory_order_relaxed) || being_made_[slot]) return device;
    being_made_[slot] = true;
    settings = settings_;
  }
  CudaDevice* device = nullptr;
  std::string failure;
  try {
    device = new CudaDevice(index, upstream_, captures_[slot], settings);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  bool late = false;
  {
    const std::lock_guard lock(making_);
    being_made_[slot] = false;
    late = !active_.load(std::memory_order_relaxed);                         // uninstalled meanwhile
    if (device == nullptr) active_.store(false, std::memory_order_release);  // once, not at every request
    if (device != nullptr) all_devices_.push_back(device);
    if (device != nullptr && !late) {
      devices_[slot].store(device, std::memory_order_release);
      device_end_.store(std::max<c10::DeviceIndex>(device_end_.load(), index + 1), std::memory_order_release);
    }
  }
  if (device == nullptr)
    warn("no session for CUDA device " + std::to_string(index) + " (" + failure +
         "); the job goes on unplanned");
  if (device != nullptr && late) device->session.stop();
  return late ? nullptr : device;
}

CudaDevice* CudaAdaptor::known_device(c10::DeviceIndex index) const {
  if (index < 0 || index >= kMaxDevices) return nullptr;
  return devices_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
}

std::vector<CudaDevice*> CudaAdaptor::devices_of(c10::DeviceIndex index) const {
  const std::lock_guard lock(making_);
  std::vector<CudaDevice*> devices;
  std::copy_if(all_devices_.begin(), all_devices_.end(), std::back_inserter(devices),
               [index](const CudaDevice* device) { return device->index == index; });
  return devices;
}

std::string CudaAdaptor::arena_line(c10::DeviceIndex index) const {
  std::uint64_t mapped = 0;
  std::uint64_t live = 0;
  for (CudaDevice* device : devices_of(index)) {
    mapped += device->session.arena_bytes().value();
    live += static_cast<std::uint64_t>(device->counters.use().rounded_bytes[0].current);
  }
  return "Of the device's memory Stowage holds " + c10::CachingAllocator::format_size(mapped) +
         " as the arena of its plan, of which " + c10::CachingAllocator::format_size(live) +
         " are in use now.";
}

void CudaAdaptor::report_to_profiler(CudaDevice& device, void* address, std::int64_t bytes) {
  const auto stats = getDeviceStats(device.index);
  // A free is reported before it counts: afterwards the address may be another thread's.
  const std::int64_t allocated = stats.allocated_bytes[0].current + std::min<std::int64_t>(bytes, 0);
  c10::reportMemoryUsageToProfiler(address, bytes, static_cast<std::size_t>(allocated),
                                   static_cast<std::size_t>(stats.reserved_bytes[0].current),
                                   c10::Device(c10::kCUDA, device.index));
}

c10::CachingDeviceAllocator::DeviceStats CudaAdaptor::getDeviceStats(c10::DeviceIndex index) {
  auto stats = upstream_.getDeviceStats(index);
  for (CudaDevice* device : devices_of(index)) {
    add_arena(stats, arena_figures(*device));
    stats.num_ooms -= std::min(stats.num_ooms, device->port.limit().mended());
  }
  return stats;
}

void CudaAdaptor::resetAccumulatedStats(c10::DeviceIndex index) {
  upstream_.resetAccumulatedStats(index);
  for (CudaDevice* device : devices_of(index)) {
    device->counters.reset_accumulated();
    device->port.limit().forget_mended();
  }
}

void CudaAdaptor::resetPeakStats(c10::DeviceIndex index) {
  upstream_.resetPeakStats(index);
  for (CudaDevice* device : devices_of(index)) {
    device->counters.reset_peak();
    device->session.reset_peak();
  }
}

torch_cuda::SnapshotInfo CudaAdaptor::snapshot(c10::MempoolId_t pool, bool include_traces) {
  auto info = upstream_.snapshot(pool, include_traces);
  if (pool != c10::MempoolId_t{0, 0}) return info;  // a private pool: nothing of ours
  std::vector<CudaDevice*> devices;
  {
    const std::lock_guard lock(making_);
    devices = all_devices_;
  }
  for (CudaDevice* device : devices) {
    for (const ArenaEntry* arena : arena_directory().arenas_of(*device)) {
      const Bytes mapped{arena->mapped.load(std::memory_order_relaxed)};
      if (mapped == Bytes{0} || !device->session.owns(arena->base)) continue;
      info.segments.push_back(arena_segment(device->index, arena->base, mapped, device->session.live_blocks(),
                                            device->port.is_expandable()));
    }
  }
  return info;
}

}  // namespace stowage::plugin
