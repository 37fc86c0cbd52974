#include "plugin/cpu/cpu_adaptor.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <mutex>

#include "plugin/cpu/cpu_port.h"
#include "plugin/torch/live_torch.h"

namespace stowage::plugin {
namespace {

constexpr std::uint8_t kPriority = 1;  // upstream registers with 0

// One session per install. Earlier ones stay, since tensors in their arenas may be alive.
struct Station {
  Station(CpuPort& port, const session::Settings& settings) : session(port, live_torch(), settings) {}
  session::Session session;
  Station* older = nullptr;
};

class CpuAdaptor final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return &delete_any; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  Status install(const session::Settings& settings);
  void remove();
  void count(c10::StorageImpl& storage) const;
  session::Session* session() const { return installed_.load() ? &latest_.load()->session : nullptr; }

 private:
  c10::DataPtr allocate_within_budget(session::Session& session, std::size_t bytes);
  static void delete_any(void* address);
  bool free_in_older(void* address) const;

  std::mutex making_;
  c10::Allocator* upstream_ = nullptr;  // written once, before the first install is seen, as is port_
  CpuPort* port_ = nullptr;
  std::atomic<Station*> latest_{nullptr};
  std::atomic<bool> installed_{false};
};

CpuAdaptor& adaptor() {
  static auto* instance = new CpuAdaptor;
  return *instance;
}

c10::DataPtr CpuAdaptor::allocate(std::size_t bytes) {
  constexpr StreamId kOnlyStream{0};
  const c10::Device cpu(c10::kCPU);
  if (bytes == 0) return {nullptr, nullptr, &delete_any, cpu};
  Station& station = *latest_.load(std::memory_order_acquire);
  if (void* planned = station.session.try_allocate(Bytes(bytes), kOnlyStream)) {
    c10::profiledCPUMemoryReporter().New(planned, bytes);
    return {planned, planned, &delete_any, cpu};
  }
  if (port_->ledger()->limited()) [[unlikely]]
    return allocate_within_budget(station.session, bytes);
  c10::DataPtr data = upstream_->allocate(bytes);  // may throw; upstream also tells the profiler
  void* const address = data.release_context();
  port_->note_taken(address);
  station.session.on_upstream_alloc(address, Bytes(bytes), kOnlyStream);
  return {address, address, &delete_any, cpu};
}

// Counts all bytes in one step before it allocates, so that concurrent threads cannot exceed the limit.
c10::DataPtr CpuAdaptor::allocate_within_budget(session::Session& session, std::size_t bytes) {
  const Bytes most = CpuPort::most_held(bytes);
  static std::once_flag once;
  std::call_once(once, &CpuPort::return_memory_at_once);
  if (void* const kept = port_->reuse(bytes)) {
    c10::profiledCPUMemoryReporter().New(kept, bytes);
    session.on_upstream_alloc(kept, Bytes(bytes), StreamId{0});
    return {kept, kept, &delete_any, c10::Device(c10::kCPU)};
  }
  session::Ledger& ledger = *port_->ledger();
  while (!ledger.try_take(most)) {
    if (port_->release_oldest()) continue;
    TORCH_CHECK_WITH(OutOfMemoryError, session.make_room(most), "stowage: ", session.explain_shortage(most));
  }
  c10::DataPtr data;
  try {
    data = upstream_->allocate(bytes);
  } catch (...) {
    ledger.give(most);
    throw;
  }
  void* const address = data.release_context();
  port_->note_settled(address, most);
  session.on_upstream_alloc(address, Bytes(bytes), StreamId{0});
  return {address, address, &delete_any, c10::Device(c10::kCPU)};
}

void CpuAdaptor::delete_any(void* address) {
  if (address == nullptr) return;
  const CpuAdaptor& self = adaptor();
  Station& station = *self.latest_.load(std::memory_order_acquire);
  // Tell the profiler first: once the block is freed, another thread may get the address.
  if (station.session.owns(address)) c10::profiledCPUMemoryReporter().Delete(address);
  if (self.free_in_older(address) || station.session.free(address)) return;
  if (self.port_->ledger()->limited()) [[unlikely]] {
    c10::profiledCPUMemoryReporter().Delete(address);
    if (self.port_->keep(address)) return;
  }
  self.port_->note_given_back(address);
  self.upstream_->raw_deleter()(address);
}

bool CpuAdaptor::free_in_older(void* address) const {
  for (Station* one = latest_.load(std::memory_order_acquire)->older; one != nullptr; one = one->older) {
    if (!one->session.owns(address)) continue;
    c10::profiledCPUMemoryReporter().Delete(address);
    one->session.free(address);
    return true;
  }
  return false;
}

Status CpuAdaptor::install(const session::Settings& settings) {
  const std::lock_guard lock(making_);
  if (installed_.load()) return {};
  c10::Allocator* const present = c10::GetAllocator(c10::kCPU);
  if (present != this) {
    if (present->raw_deleter() == nullptr)
      return Error{ErrorCode::kUnsupported,
                   "the CPU allocator in place cannot be wrapped: it has no raw deleter"};
    if (upstream_ == nullptr) upstream_ = present;
  }
  if (port_ == nullptr) port_ = new CpuPort(settings.job, upstream_->raw_deleter());
  auto* station = new Station(*port_, settings);
  station->older = latest_.load();
  latest_.store(station, std::memory_order_release);
  installed_.store(true);
  c10::SetAllocator(c10::kCPU, this, kPriority);
  return {};
}

void CpuAdaptor::remove() {
  const std::lock_guard lock(making_);
  if (!installed_.exchange(false)) return;
  if (c10::GetAllocator(c10::kCPU) == this) c10::SetAllocator(c10::kCPU, upstream_, kPriority);
  latest_.load()->session.stop();
  port_->release_upstream_cache();
}

void CpuAdaptor::count(c10::StorageImpl& storage) const {
  if (!installed_.load() || !latest_.load()->session.has_budget()) return;
  c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  if (!data.device().is_cpu() || data.get() == nullptr || data.get() != data.get_context()) return;
  if (data.compare_exchange_deleter(upstream_->raw_deleter(), &delete_any)) port_->note_found(data.get());
}

}  // namespace

Status install_cpu(const session::Settings& settings) { return adaptor().install(settings); }
void remove_cpu() { adaptor().remove(); }
void count_cpu(c10::StorageImpl& storage) { adaptor().count(storage); }
session::Session* cpu_session() { return adaptor().session(); }

}  // namespace stowage::plugin
