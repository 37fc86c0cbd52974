#include "plugin/cuda/device/cuda_port.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "allocator/arena/backend.h"
#include "allocator/cuda/cuda_api.h"
#include "allocator/cuda/cuda_malloc_backend.h"
#include "allocator/cuda/cuda_vmm_backend.h"
#include "plugin/cuda/device/arena_directory.h"
#include "plugin/cuda/device/cuda_device.h"
#include "plugin/cuda/device/device_clock.h"
#include "plugin/cuda/device/memory_history.h"
#include "plugin/cuda/upstream/lasting_requests.h"
#include "plugin/cuda/upstream/torch_versions.h"
#include "plugin/cuda/upstream/upstream_space.h"
#include "session/settings/notice.h"
#include "tracer/observers/factory_ops.h"

namespace stowage::plugin {
namespace {

using ArenaResult = Result<std::unique_ptr<allocator::Arena>>;

template <class Backend>
ArenaResult open_arena(int device, Bytes reserved, Bytes mapped, allocator::Backing backing) {
  Result<Backend> backend = Backend::open(device);
  if (!backend) return backend.error();
  return allocator::make_arena(std::move(*backend), reserved, mapped, backing);
}

}  // namespace

CudaPort::CudaPort(c10::DeviceIndex index, CudaDevice& owner, Upstream& upstream, OpenPools& pools,
                   MemoryFraction& fraction, const session::Settings& settings)
    : index_(index),
      owner_(owner),
      upstream_(upstream),
      pools_(pools),
      settings_(settings),
      fraction_(fraction),
      limit_(index, upstream, fraction),
      ledger_(&limit_),
      saw_all_(!upstream.initialized() || upstream.getDeviceStats(index).allocated_bytes[0].current == 0) {
  if (settings_.budget.is_set()) count_upstream();
}

CudaPort::~CudaPort() {
  for (auto& [id, fence] : fences_) {
    if (fence.event != nullptr) static_cast<void>(cudaEventDestroy(fence.event));
  }
  for (cudaEvent_t event : free_events_) static_cast<void>(cudaEventDestroy(event));
}

TraceInfo CudaPort::describe() {
  TraceInfo info;
  info.device = {DeviceKind::kCuda, static_cast<std::uint32_t>(index_)};
  info.torch_version = built_torch_version();
  info.job = settings_.job;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index_) == cudaSuccess) {
    info.device_name = properties.name;
    info.device_memory = Bytes{properties.totalGlobalMem};
  } else {
    static_cast<void>(cudaGetLastError());
  }
  return info;
}

Bytes CudaPort::arena_page() {
  constexpr Bytes kUsual{std::uint64_t{2} << 20};
  if (settings_.arena != session::ArenaBackend::kVmm) return kUsual;
  const auto backend = allocator::CudaVmmBackend::open(index_);
  return backend ? backend->granularity() : kUsual;
}

ArenaResult CudaPort::map_arena(Bytes bytes, allocator::Backing backing) {
  const c10::cuda::CUDAGuard guard(index_);
  // Address space is cheap: reserve enough for every later plan, so that the arena grows in place.
  const Bytes whole = describe().device_memory;
  static_cast<void>(noted_upstream());
  const Bytes taken = allocator::round_up_to(bytes, arena_page());
  if (!fraction_.take(taken)) return MemoryFraction::no_room();
  ArenaResult arena =
      settings_.arena == session::ArenaBackend::kVmm
          ? open_arena<allocator::CudaVmmBackend>(index_, whole > bytes ? whole : bytes, bytes, backing)
          : open_arena<allocator::CudaMallocBackend>(index_, bytes, bytes, backing);
  fraction_.correct(taken, arena ? (*arena)->committed() : Bytes(0));
  if (!arena) return arena;
  return list_arena(owner_, std::move(*arena));
}

Status CudaPort::share_with_peers(const ArenaEntry& arena, const allocator::Segment& segment) {
  const std::lock_guard lock(peers_mutex_);
  for (const c10::DeviceIndex peer : peers_) {
    if (Status shared = share(arena, segment, peer); !shared) return shared;
  }
  return {};
}

Status CudaPort::add_peer(c10::DeviceIndex peer) {
  {
    const std::lock_guard lock(peers_mutex_);
    for (const c10::DeviceIndex known : peers_) {
      if (known == peer) return {};
    }
    peers_.push_back(peer);
  }
  for (ArenaEntry* entry : arena_directory().arenas_of(owner_)) {
    const std::lock_guard memory(entry->changing);
    for (const allocator::Segment& segment : entry->segments) {
      if (Status shared = share(*entry, segment, peer); !shared) return shared;
    }
  }
  return {};
}

Status CudaPort::share(const ArenaEntry& arena, const allocator::Segment& segment, c10::DeviceIndex peer) {
  if (!is_expandable() || !segment.committed) return {};  // memory of cudaMalloc needs no access of its own
  const auto api = allocator::CudaApi::load();
  if (!api) return api.error();
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = peer;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUdeviceptr first = reinterpret_cast<CUdeviceptr>(arena.base) + segment.begin;
  const CUresult status = (*api)->set_access(first, segment.bytes().value(), &access, 1);
  if (status == CUDA_SUCCESS) return {};
  return Error{ErrorCode::kUnsupported, (*api)->describe("opening the arena to a peer device", status)};
}

allocator::ArenaCounters* CudaPort::arena_counters() { return &owner_.joint.blocks(); }

void CudaPort::release_upstream_cache() {
  upstream_.emptyCache();
  note_upstream();
}

void CudaPort::note_upstream() {
  if (owner_.joint.is_counting()) static_cast<void>(noted_upstream());
}

c10::CachingDeviceAllocator::DeviceStats CudaPort::noted_upstream() {
  const std::uint64_t ticket = owner_.joint.next_ticket();
  auto stats = upstream_.getDeviceStats(index_);
  owner_.joint.note_upstream(stats, ticket);
  return stats;
}

void CudaPort::count_upstream() {
  std::call_once(counted_, [this] { limit_.count_in(ledger_); });
}

bool CudaPort::finish_work() {
  if (!may_wait()) return false;
  const c10::cuda::CUDAGuard guard(index_);
  if (cudaDeviceSynchronize() != cudaSuccess) return false;  // the job's next call says why
  return saw_all_ && streams_.size() == 1 && current_stream() == StreamId{0};
}

// The user's fraction counts as the device's size does.
std::optional<Bytes> CudaPort::free_memory() {
  if (!may_wait() || !upstream_.initialized()) return std::nullopt;
  const c10::cuda::CUDAGuard guard(index_);
  std::size_t free = 0;
  std::size_t whole = 0;
  if (cudaMemGetInfo(&free, &whole) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::nullopt;
  }
  const auto allowed = Bytes(static_cast<std::uint64_t>(fraction_.users() * static_cast<double>(whole)));
  return std::min(Bytes(free), saturating_sub(allowed, upstream_use().reserved + fraction_.arenas()));
}

// Stays on until a plan serves: an iteration that begins with an empty cache may see no refusal.
void CudaPort::even_out(bool evicted, bool planned) {
  const std::int64_t mended = limit_.mended();
  const bool refused = std::exchange(mended_before_, mended) != mended;
  evens_out_ = (evens_out_ && !planned) || (evicted && refused);
  limit_.begin_iteration(evens_out_);
}

// Optimizer state takes new memory, so release the cache before: both together would exceed the job's need.
// After the step, release it only under a budget, where large free blocks matter.
void CudaPort::part_optimizer_state(bool begins) {
  if (begins || settings_.budget.is_set()) release_upstream_cache();
  if (!settings_.budget.is_set()) tracer::watch_factory_ops(begins);
}

bool CudaPort::gather_lasting(const std::function<void()>& move) {
  if (!may_wait() || pools_.any()) return false;
  const c10::cuda::CUDAGuard guard(index_);
  {
    const LastingRequests lasting;
    move();
  }
  release_upstream_cache();
  return true;
}

void CudaPort::stay_out() { owner_.listener.on_session_off(); }

session::UpstreamUse CudaPort::upstream_use() {
  if (!upstream_.initialized()) return {};
  const auto stats = noted_upstream();
  const auto bytes = [](std::int64_t value) { return Bytes{static_cast<std::uint64_t>(value)}; };
  return {bytes(stats.allocated_bytes[0].current), bytes(stats.reserved_bytes[0].current),
          bytes(stats.allocated_bytes[0].peak), bytes(stats.reserved_bytes[0].peak)};
}

std::optional<Bytes> CudaPort::peak_together() {
  if (!owner_.joint.is_counting()) return std::nullopt;
  static_cast<void>(noted_upstream());
  return Bytes{static_cast<std::uint64_t>(owner_.joint.blocks().use().rounded_bytes[0].peak)};
}

Bytes CudaPort::upstream_growth(Bytes bytes, StreamId stream) {
  const auto handle = static_cast<cudaStream_t>(streams_.handle_of(stream));
  const FreeSpace space = upstream_space(upstream_, index_, handle, bytes);
  const Bytes rounded = round_up(bytes);
  const bool fits = std::any_of(space.free.begin(), space.free.end(), [&](const AddressRange& block) {
    return block.end - block.begin >= rounded.value();
  });
  return fits ? Bytes(0) : allocator::round_up_to(bytes, arena_page());
}

Bytes CudaPort::largest_cached() {
  std::size_t largest = 1;  // 0 would ask the device what it has free
  upstream_.cacheInfo(index_, &largest);
  return Bytes{largest};
}

void CudaPort::on_block(session::BlockEvent event, void* address, Bytes bytes, StreamId stream) try {
  MemoryHistory& history = owner_.listener.history();
  switch (event) {
    case session::BlockEvent::kAllocated:
      return history.on_alloc(index_, address, bytes, streams_.handle_of(stream));
    case session::BlockEvent::kFreeRequested:
      return history.on_free_requested(index_, address, bytes, streams_.handle_of(stream));
    case session::BlockEvent::kFreeCompleted:
      return history.on_free_completed(index_, address, /*late=*/bytes == Bytes{0});
  }
} catch (const std::exception& error) {
  session::note(1, std::string("a planned block is missing in the memory history: ") + error.what());
}

std::shared_ptr<tracer::OpClock> CudaPort::make_op_clock() {
  return make_device_clock(index_, pools_, settings_,
                           /*decides=*/settings_.budget.is_set() || ledger_.limited());
}

StreamId CudaPort::current_stream() {
  return streams_.id_of(c10::cuda::getCurrentCUDAStream(index_).stream()).value_or(StreamId{0});
}

}  // namespace stowage::plugin
