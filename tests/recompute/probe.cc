// The runtime behind a few C functions, and a CPU allocator with a budget, so that Python tests can load both
// into a real torch process.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/support/mix.h"
#include "recompute/away/rescue_watch.h"
#include "recompute/lasting.h"
#include "recompute/ops/op_traits.h"
#include "recompute/recompute.h"
#include "recompute/settings/float_mode.h"
#include "recompute/settings/switches.h"
#include "recompute/stores/spill_store.h"

namespace {

using namespace stowage;
using namespace stowage::recompute;

constexpr std::size_t kHeader =
    64;  // before each block: its bytes; keeps the alignment that torch's kernels want

std::string text;
std::mutex telling;
std::string told;  ///< findings; under `telling`

// Counts the bytes that were asked for and keeps them under a limit by making room.
class BudgetAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    ++number_;
    const std::uint64_t limit = limit_.load();
    while (limit > 0 && held_.load() + bytes > limit) {
      const std::uint64_t held = held_.load();
      if (Runtime::make_room(Bytes(held + bytes - limit), 0)) {
        choices_ = mix(choices_ ^ mix(number_ * kGoldenGamma + (held - held_.load())));
        continue;
      }
      const std::string why = Runtime::explain_shortage({.wanted = Bytes(bytes), .held = Bytes(held)}, 0);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "stowage: ", why);
    }
    if (bytes == 0) return {nullptr, nullptr, &give_back, c10::Device(c10::kCPU)};
    void* base = nullptr;
    TORCH_CHECK_WITH(OutOfMemoryError, posix_memalign(&base, kHeader, bytes + kHeader) == 0, "out of memory");
    *static_cast<std::size_t*>(base) = bytes;
    void* const address = static_cast<char*>(base) + kHeader;
    note(bytes);
    return {address, address, &give_back, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  void install() {
    if (c10::GetAllocator(c10::kCPU) != this) c10::SetAllocator(c10::kCPU, this, 1);
  }
  static BudgetAllocator& instance() {
    static auto* const one = new BudgetAllocator;
    return *one;
  }

  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<std::uint64_t> limit_{0};
  std::atomic<std::uint64_t> number_{0};  ///< of allocations since the choices were asked for
  std::atomic<std::uint64_t> choices_{
      0};  ///< digest of what was freed by making room, and before which allocation

 private:
  static void give_back(void* address) {
    if (address == nullptr) return;
    void* const base = static_cast<char*>(address) - kHeader;
    instance().held_ -= *static_cast<std::size_t*>(base);
    std::free(base);
  }
  void note(std::uint64_t bytes) {
    const std::uint64_t held = held_ += bytes;
    std::uint64_t peak = peak_.load();
    while (peak < held && !peak_.compare_exchange_weak(peak, held)) {
    }
  }
};

}  // namespace

#define PROBE extern "C" __attribute__((visibility("default")))

/// 0 for success. `forced_every` 0: nothing is forced.
PROBE int probe_install(unsigned forced_every, unsigned long long seed, unsigned long long smallest,
                        int poison) {
  Options options;
  options.smallest = Bytes(smallest);
  options.poison = poison != 0;
  options.forced.every = forced_every;
  options.forced.seed = seed;
  options.forced.smallest = Bytes(smallest);
  options.forced.offloads = true;
  const Status status = Runtime::install(options);
  if (!status.ok()) text = status.error().message;
  return status.ok() ? 0 : 1;
}
/// The same with forced evictions from number `first` to `last`, told if `tells`, each recipe replayed at
/// once if `verify`; recipes of the op `wrong` have a wrong bit. probe_told() gives what was found.
PROBE int probe_debug(unsigned every, unsigned long long seed, unsigned long long first,
                      unsigned long long last, int tells, int verify, const char* wrong) {
  Options options;
  options.poison = true;
  options.forced = {every, seed, Bytes(1), first, last, tells != 0};
  options.verify = verify != 0;
  options.wrong_recipe = wrong;
  told.clear();
  options.tell = [](const std::string& finding, bool is_wrong) {
    const std::lock_guard lock(telling);
    told += (is_wrong ? "wrong: " : "") + finding + "\n";
  };
  const Status status = Runtime::install(options);
  if (!status.ok()) text = status.error().message;
  return status.ok() ? 0 : 1;
}
PROBE const char* probe_told() {
  const std::lock_guard lock(telling);
  text = told;
  return text.c_str();
}
/// Offloaded CPU tensors go to a file in `folder`. 0 for success. null: none are offloaded.
PROBE int probe_spill(const char* folder) {
  if (folder == nullptr) {
    Runtime::use_store(0, nullptr);
    return 0;
  }
  Result<std::unique_ptr<SpillStore>> store = SpillStore::open(folder);
  if (!store) text = store.error().message;
  if (store) Runtime::use_store(0, std::move(*store));
  return store ? 0 : 1;
}
PROBE void probe_note_limit(unsigned long long limit) { Runtime::note_limit(Bytes(limit), 0); }
PROBE unsigned long long probe_part_bytes(int device_type) {
  return Runtime::part_bytes(device_type).value();
}
PROBE int probe_offload(void* storage) {
  return Runtime::offload(static_cast<c10::StorageImpl*>(storage)) ? 1 : 0;
}
/// As an allocator asks that could serve a request from where the storage lies, and from nowhere else. 1: it
/// is free.
PROBE int probe_contiguous_room(void* storage) {
  const auto* const impl = static_cast<c10::StorageImpl*>(storage);
  const auto begin = reinterpret_cast<std::uintptr_t>(impl->data());
  return Runtime::make_contiguous_room(Bytes(impl->nbytes()), 0, {{{begin, begin + impl->nbytes()}}, {}}) ? 1
                                                                                                          : 0;
}
PROBE void probe_uninstall() { Runtime::uninstall(); }
PROBE const char* probe_text() { return text.c_str(); }
/// Somebody is told, or not, of what is evicted and offloaded as no schedule says.
PROBE void probe_listen(int listens) {
  struct Nobody final : RescueListener {
    void leaves(const void*, std::uint64_t) noexcept override {}
    void begin_return() noexcept override {}
    void end_return() noexcept override {}
    void is_back(const void*, std::uint64_t) noexcept override {}
    void is_gone(std::uint64_t) noexcept override {}
  };
  static Nobody nobody;
  Runtime::listen(listens != 0 ? &nobody : nullptr);
}
/// How many bytes were moved.
PROBE unsigned long long probe_gather_lasting() { return gather_lasting(0, -1).value(); }
PROBE void probe_end_iteration() { Runtime::end_iteration(); }
PROBE void probe_watch_until_iteration_ends() { Runtime::watch_until_iteration_ends(); }
PROBE void probe_know(void* storage) { Runtime::know(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_pin(void* storage) { Runtime::pin(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_expose(void* storage) { Runtime::expose(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_lend(void* storage) { Runtime::lend(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_take_back(void* storage) { Runtime::take_back(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_hold(void* storage) { Runtime::hold(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_let_go(void* storage) { Runtime::let_go(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_tell_address(void* storage) {
  Runtime::tell_address(static_cast<c10::StorageImpl*>(storage));
}
PROBE void probe_begin_write(void* storage) { Runtime::begin_write(static_cast<c10::StorageImpl*>(storage)); }
PROBE void probe_end_write(void* storage) { Runtime::end_write(static_cast<c10::StorageImpl*>(storage)); }
PROBE int probe_evict(void* storage) {
  return Runtime::evict(static_cast<c10::StorageImpl*>(storage)) ? 1 : 0;
}
PROBE int probe_is_evicted(void* storage) {
  return Runtime::is_evicted(static_cast<c10::StorageImpl*>(storage)) ? 1 : 0;
}
PROBE void probe_join() { Runtime::join(); }
PROBE void probe_expect_joins(int all_join) { Runtime::expect_joins(all_join != 0); }
PROBE void probe_enter_opaque() { Runtime::enter_opaque(); }
PROBE void probe_leave_opaque() { Runtime::leave_opaque(); }

/// ops, recorded, evictions, restores, replays, ops_ns, replay_ns, search_ns, evicted, evicted_total, rooms,
/// refusals, verified, compared, wrong, choices, offloads, fetches, offloaded, offloaded_total, copied_total,
/// encodings.
PROBE void probe_counters(unsigned long long* into) {
  const RuntimeCounters c = Runtime::counters();
  const unsigned long long all[] = {c.ops,
                                    c.recorded,
                                    c.evictions,
                                    c.restores,
                                    c.replays,
                                    c.ops_ns,
                                    c.replay_ns,
                                    c.search_ns,
                                    c.evicted.value(),
                                    c.evicted_total.value(),
                                    c.rooms,
                                    c.refusals,
                                    c.verified,
                                    c.compared,
                                    c.wrong,
                                    c.choices,
                                    c.offloads,
                                    c.fetches,
                                    c.offloaded.value(),
                                    c.offloaded_total.value(),
                                    c.copied_total.value(),
                                    c.encodings};
  std::copy(std::begin(all), std::end(all), into);
}

/// From now on CPU tensors come from the counting allocator. `limit` 0: none.
PROBE void probe_budget(unsigned long long limit) {
  BudgetAllocator::instance().install();
  BudgetAllocator::instance().limit_ = limit;
}
PROBE unsigned long long probe_held() { return BudgetAllocator::instance().held_; }
PROBE unsigned long long probe_peak(int reset) {
  BudgetAllocator& all = BudgetAllocator::instance();
  const std::uint64_t peak = all.peak_;
  if (reset != 0) all.peak_ = all.held_.load();
  return peak;
}
/// Digest of the evictions since the last call: what was freed, and before which allocation.
PROBE unsigned long long probe_choices() {
  BudgetAllocator& all = BudgetAllocator::instance();
  all.number_ = 0;
  return all.choices_.exchange(0);
}

/// How the op of this name and overload draws random numbers: a recompute::Draws as a number; -1: no such op.
PROBE int probe_draws(const char* name, const char* overload) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  return op ? static_cast<int>(traits_of(*op).drawing.how) : -1;
}
/// The settings of torch that an op runs again under, by the names of at::Context's setters; null at the end.
PROBE const char* probe_switch(int at) { return name_of_switch(static_cast<std::size_t>(at)); }
/// The bits of the calling thread's floating-point unit that say how it rounds.
PROBE unsigned probe_float_control() { return FloatMode::present().caller; }
