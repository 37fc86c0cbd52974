#include "plugin/cuda/adaptor/cuda_adaptor.h"

#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <exception>

#include "core/support/check.h"
#include "plugin/cuda/adaptor/arena_snapshot.h"
#include "plugin/cuda/upstream/upstream_settings.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

std::atomic<CudaAdaptor*> the_adaptor{nullptr};

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// The blocks of an arena that lie in `run`, with offsets relative to its beginning.
std::vector<ArenaBlock> blocks_in(const allocator::Segment& run, const std::vector<ArenaBlock>& blocks) {
  std::vector<ArenaBlock> inside;
  for (ArenaBlock block : blocks) {
    if (block.offset.value() < run.begin || block.offset.value() >= run.end) continue;
    block.offset = Offset(block.offset.value() - run.begin);
    inside.push_back(block);
  }
  return inside;
}

}  // namespace

CudaAdaptor* cuda_adaptor() { return the_adaptor.load(std::memory_order_acquire); }

CudaAdaptor::CudaAdaptor(torch_cuda::CUDAAllocator& upstream)
    : upstream_(upstream), history_(upstream, [this] { update_watching(); }) {
  for (c10::DeviceIndex i = 0; i < kMaxDevices; ++i) fractions_.emplace_back(i, upstream);
  STOWAGE_CHECK(the_adaptor.exchange(this) == nullptr, "one CUDA adaptor a process");
}

void CudaAdaptor::update_watching() {
  const std::lock_guard lock(making_);
  for (CudaDevice* device : all_devices_) device->session.watch_blocks(history_.is_watching());
}

void CudaAdaptor::set_active(bool active) {
  active_.store(active, std::memory_order_release);
  const bool caches = upstream_.isEnabled();
  if (caches) native_deleter_.store(upstream_.raw_deleter(), std::memory_order_release);
  serves_.store(active && caches, std::memory_order_release);
}

void CudaAdaptor::activate(const session::Settings& settings) {
  history_.take_over();
  const std::lock_guard lock(making_);
  settings_ = settings;
  for (auto& device : devices_) {  // sessions that gave up get a new try
    const CudaDevice* before = device.load(std::memory_order_relaxed);
    if (before != nullptr && before->session.state() == session::SessionState::kOff) device.store(nullptr);
  }
  set_active(true);
}

void CudaAdaptor::deactivate() {
  std::vector<CudaDevice*> devices;
  {
    const std::lock_guard lock(making_);
    set_active(false);
    devices = all_devices_;
    for (auto& device : devices_) device.store(nullptr, std::memory_order_release);
    device_end_.store(0, std::memory_order_release);
  }
  for (CudaDevice* device : devices) {
    device->session.stop();
    device->session.give_back_idle();
  }
}

void CudaAdaptor::rest(bool keep_settings) {
  {
    const std::lock_guard lock(making_);
    for (const auto& slot : devices_) {
      const CudaDevice* device = slot.load(std::memory_order_relaxed);
      if (device != nullptr && device->session.state() != session::SessionState::kOff) return;
    }
    set_active(false);
  }
  if (!keep_settings) restore_settings();
}

bool CudaAdaptor::unreferenced() const {
  if (adopted_.load(std::memory_order_relaxed) != 0) return false;
  const std::lock_guard lock(making_);
  return std::all_of(all_devices_.begin(), all_devices_.end(), [](CudaDevice* device) {
    return device->joint.blocks().use().blocks[0].current == 0 && device->session.arena_bytes() == Bytes{0};
  });
}

session::Session* CudaAdaptor::session_of(c10::DeviceIndex index) const {
  CudaDevice* device = known_device(index);
  return device == nullptr ? nullptr : &device->session;
}

// Runs with no lock held: under a budget it places Python's guards, which waits for the GIL.
CudaDevice* CudaAdaptor::make_device(c10::DeviceIndex index) {
  const auto slot = static_cast<std::size_t>(index);
  session::Settings settings;
  {
    const std::lock_guard lock(making_);
    CudaDevice* const device = devices_[slot].load(std::memory_order_acquire);
    if (device != nullptr || !active_.load(std::memory_order_relaxed) || being_made_[slot]) return device;
    being_made_[slot] = true;
    settings = settings_;
    if (joint_[slot] == nullptr) joint_[slot] = std::make_unique<JointStatistics>();
  }
  CudaDevice* device = nullptr;
  std::string failure;
  try {
    fractions_[slot].settings_changed();
    device = new CudaDevice(index, *this, upstream_, pools_[slot], fractions_[slot], *joint_[slot], settings);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  bool late = false;
  {
    const std::lock_guard lock(making_);
    being_made_[slot] = false;
    late = !active_.load(std::memory_order_relaxed);  // uninstalled meanwhile
    if (device == nullptr) set_active(false);         // once, not at every request
    if (device != nullptr) {
      all_devices_.push_back(device);
      device->session.watch_blocks(history_.is_watching());
    }
    if (device != nullptr && !late) {
      devices_[slot].store(device, std::memory_order_release);
      device_end_.store(std::max<c10::DeviceIndex>(device_end_.load(), index + 1), std::memory_order_release);
    }
  }
  if (device == nullptr)
    session::warn("no session for CUDA device " + std::to_string(index) + " (" + failure +
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

void CudaAdaptor::give_back_idle_arenas(c10::DeviceIndex index) {
  for (CudaDevice* device : devices_of(index)) device->session.give_back_idle();
}

void CudaAdaptor::yield_expandable_segments(c10::DeviceIndex index) {
  const CudaDevice* const device = known_device(index);
  if (device != nullptr && (device->port.pages_are_counted() || !device->port.may_wait())) return;
  if (restore_settings()) yielded_.store(true, std::memory_order_relaxed);
}

// A job that continues after the error (with a smaller batch, say) gets expandable segments again.
void CudaAdaptor::resume_expandable_segments() {
  if (!yielded_.exchange(false, std::memory_order_relaxed) || !active()) return;
  {
    const std::lock_guard lock(making_);
    prefer_expandable_segments(settings_);
  }
  for (MemoryFraction& fraction : fractions_) fraction.settings_changed();
}

bool CudaAdaptor::restore_settings() {
  if (!restore_upstream_settings()) return false;
  if (!upstream_.initialized()) return true;
  for (MemoryFraction& fraction : fractions_) fraction.settings_changed();
  upstream_.emptyCache();
  return true;
}

bool CudaAdaptor::has_remedies(c10::DeviceIndex index) const {
  return fractions_[static_cast<std::size_t>(index)].arenas() > Bytes{0} ||
         (expandable_segments_are_ours() && known_device(index) != nullptr);
}

void CudaAdaptor::report_to_profiler(CudaDevice& device, void* address, std::int64_t bytes) {
  const auto stats = getDeviceStats(device.index);
  // Report a free before it is counted: afterwards another thread may own the address.
  const std::int64_t allocated = stats.allocated_bytes[0].current + std::min<std::int64_t>(bytes, 0);
  c10::reportMemoryUsageToProfiler(address, bytes, static_cast<std::size_t>(allocated),
                                   static_cast<std::size_t>(stats.reserved_bytes[0].current),
                                   c10::Device(c10::kCUDA, device.index));
}

[[gnu::noinline]] void CudaAdaptor::tell_of_allocation(CudaDevice& device, void* address, std::size_t bytes) {
  if (c10::memoryProfilingEnabled()) {
    report_to_profiler(device, address, static_cast<std::int64_t>(round_up(Bytes{bytes}).value()));
  }
  if (const c10::impl::PyInterpreter* interpreter = c10::impl::GPUTrace::get_trace()) {
    (*interpreter)->trace_gpu_memory_allocation(c10::kCUDA, number(address));
  }
}

// Runs before the free: afterwards another thread may own the address.
[[gnu::noinline]] void CudaAdaptor::tell_of_free(const ArenaEntry& arena, void* address) {
  const std::optional<allocator::ArenaBlock> block = arena.device.session.block_at(address);
  if (!block) return;
  if (c10::memoryProfilingEnabled()) {
    const auto bytes = static_cast<std::int64_t>(block->rounded.value());
    cuda_adaptor()->report_to_profiler(arena.device, address, -bytes);
  }
  if (const c10::impl::PyInterpreter* interpreter = c10::impl::GPUTrace::get_trace()) {
    (*interpreter)->trace_gpu_memory_deallocation(c10::kCUDA, number(address));
  }
}

[[gnu::noinline]] void CudaAdaptor::refuse_free(void* address) {
  TORCH_CHECK(false, "stowage: free of ", address, ", which is not the start of a live block");
}

c10::CachingDeviceAllocator::DeviceStats CudaAdaptor::getDeviceStats(c10::DeviceIndex index) {
  const std::vector<CudaDevice*> devices = devices_of(index);
  if (devices.empty()) return upstream_.getDeviceStats(index);
  JointStatistics& joint = devices.front()->joint;  // all share it
  const std::uint64_t ticket = joint.next_ticket();
  auto stats = upstream_.getDeviceStats(index);
  joint.add_to(stats, ticket);
  for (CudaDevice* device : devices) {  // upstream counted a retry and an OOM for each mended refusal
    stats.num_ooms -= std::min(stats.num_ooms, device->port.limit().mended());
    stats.num_alloc_retries -= std::min(stats.num_alloc_retries, device->port.limit().mended());
  }
  return stats;
}

void CudaAdaptor::resetAccumulatedStats(c10::DeviceIndex index) {
  upstream_.resetAccumulatedStats(index);
  for (CudaDevice* device : devices_of(index)) {
    device->joint.reset_accumulated();
    device->port.limit().forget_mended();
  }
}

void CudaAdaptor::resetPeakStats(c10::DeviceIndex index) {
  upstream_.resetPeakStats(index);
  for (CudaDevice* device : devices_of(index)) {
    const std::uint64_t ticket = device->joint.next_ticket();
    device->joint.reset_peak(upstream_.getDeviceStats(index), ticket);
    device->session.reset_peak();
  }
}

torch_cuda::SnapshotInfo CudaAdaptor::snapshot(c10::MempoolId_t pool, bool include_traces) {
  std::vector<std::vector<MemoryHistory::Event>> traces;
  if (include_traces) traces = history_.entries();
  auto info = upstream_.snapshot(pool, include_traces);
  for (std::size_t device = 0; device < std::min(traces.size(), info.device_traces.size()); ++device)
    info.device_traces[device] = std::move(traces[device]);
  if (pool != c10::MempoolId_t{0, 0}) return info;  // a private pool: nothing of ours
  std::vector<CudaDevice*> devices;
  {
    const std::lock_guard lock(making_);
    devices = all_devices_;
  }
  for (CudaDevice* device : devices) {
    for (ArenaEntry* arena : arena_directory().arenas_of(*device)) {
      const std::vector<ArenaBlock> blocks = device->session.active_blocks(arena->base);
      for (const allocator::Segment& run : arena->committed_runs()) {
        info.segments.push_back(arena_segment(device->index, static_cast<std::byte*>(arena->base) + run.begin,
                                              run.bytes(), blocks_in(run, blocks),
                                              device->port.is_expandable(),
                                              [this](const void* at) { return history_.context_of(at); }));
      }
    }
  }
  return info;
}

}  // namespace stowage::plugin
