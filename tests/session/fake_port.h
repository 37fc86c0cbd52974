// A device for session tests: host memory, an upstream that counts, fences that pass when the test says so.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "allocator/arena/host_backend.h"
#include "session/session.h"

namespace stowage::session {

class FakePort : public DevicePort {
 public:
  FakePort() = default;
  FakePort(const FakePort&) = delete;
  FakePort& operator=(const FakePort&) = delete;
  /// What the test's job never freed goes with the device.
  ~FakePort() override {
    for (const auto& [address, bytes] : sizes_) std::free(address);
  }
  TraceInfo describe() override { return info; }
  Result<std::unique_ptr<allocator::Arena>> map_arena(Bytes bytes, allocator::Backing backing) override {
    ++maps;
    if (no_memory) return Error{ErrorCode::kOutOfMemory, "the device has no memory left"};
    return allocator::make_arena(allocator::HostBackend{}, Bytes(std::uint64_t{1} << 30), bytes, backing);
  }
  Bytes arena_page() override { return allocator::HostBackend{}.granularity(); }
  void release_upstream_cache() override {
    ++releases;
    const std::lock_guard lock(mutex_);
    reserved_ = std::min(reserved_, held_ + pinned);
  }
  void part_optimizer_state(bool) override { ++parts; }
  bool gather_lasting(const std::function<void()>& move) override {
    if (gathers) move();
    if (gathers && gathered) gathered();
    return gathers;
  }
  void stay_out() override { ++outs; }
  void even_out(bool, bool) override {
    if (const std::function<void()> call = std::exchange(in_next_mark, nullptr)) call();
  }
  UpstreamUse upstream_use() override {
    if (broken) throw std::runtime_error("the device is out of order");
    const std::lock_guard lock(mutex_);
    if (!caches) return {held_, held_, Bytes(0), Bytes(0)};
    return {held_, reserved_, peak_, peak_};
  }
  Bytes largest_cached() override {
    const std::lock_guard lock(mutex_);
    return std::min(piece, reserved_ - held_);
  }
  [[nodiscard]] bool may_wait() const override { return !capturing && waits_until_capture-- > 0; }
  std::uint64_t record_fence(StreamId) override {
    const std::lock_guard lock(mutex_);
    open_.insert(++last_fence_);
    return last_fence_;
  }
  bool fence_passed(std::uint64_t fence) override {
    const std::lock_guard lock(mutex_);
    return !open_.contains(fence);
  }

  Ledger* ledger() override { return counted ? &count : nullptr; }
  void count_upstream() override {
    if (!counted_upstream_) count.take(upstream_use().reserved);
    counted_upstream_ = true;
  }
  std::optional<Bytes> free_memory() override { return free; }
  [[nodiscard]] bool is_read_by_address() const override { return read_by_address; }
  void on_arena_use(std::int64_t delta) override {
    ++arena_uses;
    arena_use += delta;
    count.add_in_arena(delta);
  }
  Bytes decommit(void*, Bytes bytes) override { return bytes; }
  [[nodiscard]] bool commits_on_touch() const override { return on_touch; }
  [[nodiscard]] bool commits_in_parts() const override { return in_parts; }

  void pass_fences() {
    const std::lock_guard lock(mutex_);
    open_.clear();
  }
  void* allocate(Bytes bytes) {
    void* address = std::malloc(bytes.value());
    const std::lock_guard lock(mutex_);
    sizes_[address] = bytes;
    held_ += bytes;
    reserved_ = bytes > piece ? reserved_ + bytes : std::max(reserved_, held_);
    peak_ = std::max(peak_, reserved_);
    if (counted_upstream_) count.take(bytes);
    return address;
  }
  void give_back(void* address) {
    {
      const std::lock_guard lock(mutex_);
      held_ -= sizes_.at(address);
      if (counted_upstream_) count.give(sizes_.at(address));
      sizes_.erase(address);
    }
    std::free(address);
  }

  TraceInfo info;
  std::optional<Bytes> free;  ///< bytes that the device has left
  bool read_by_address = false;
  bool no_memory = false;
  bool broken = false;                 ///< upstream_use() throws
  std::function<void()> in_next_mark;  ///< called under a budget
  bool on_touch = false;
  bool in_parts = false;
  bool gathers = false;  ///< memory is lost between tensors that last
  std::function<void()> gathered;
  bool caches = false;  ///< upstream keeps what it has, and tells its peaks
  /// What upstream keeps lies in pieces of so many bytes, and serves no larger request.
  Bytes piece{std::numeric_limits<std::uint64_t>::max()};
  Bytes pinned{0};                     ///< of its cache, which no release gives back
  std::atomic<bool> capturing{false};  ///< nothing may wait for the device
  /// A capture begins once it was asked so often whether it may be waited for.
  mutable std::atomic<int> waits_until_capture{std::numeric_limits<int>::max()};
  bool counted = false;  ///< there is a ledger, which holds what the test and the arena put there
  Ledger count;
  std::atomic<int> arena_uses{0};          ///< requests and frees that were told
  std::atomic<std::int64_t> arena_use{0};  ///< bytes that these took
  int maps = 0;
  std::atomic<int> releases{0};
  int parts = 0;
  int outs = 0;

 private:
  bool counted_upstream_ = false;
  std::mutex mutex_;
  std::unordered_map<void*, Bytes> sizes_;
  std::set<std::uint64_t> open_;
  std::uint64_t last_fence_ = 0;
  Bytes held_{0};
  Bytes reserved_{0};
  Bytes peak_{0};
};

/// What an adaptor does with a session, and no more.
class FakeJob {
 public:
  FakeJob(FakePort& port, Session& session) : port_(port), session_(session) {}

  void* allocate(std::uint64_t bytes, std::uint32_t stream = 0) {
    if (void* planned = session_.try_allocate(Bytes(bytes), StreamId(stream))) return planned;
    session_.before_upstream_alloc(Bytes(bytes), StreamId(stream));
    void* address = port_.allocate(Bytes(bytes));
    session_.on_upstream_alloc(address, Bytes(bytes), StreamId(stream));
    return address;
  }
  void free(void* address) {
    if (!session_.free(address)) port_.give_back(address);
  }
  /// One iteration: `count` activations of growing size, freed in reverse, and what `extra` adds in the
  /// middle.
  template <class Extra>
  void iterate(int count, Extra extra) {
    std::vector<void*> live;
    for (int i = 0; i < count; ++i) live.push_back(allocate(1000u * static_cast<unsigned>(i + 1)));
    extra();
    while (!live.empty()) {
      free(live.back());
      live.pop_back();
    }
    session_.on_mark(MarkSource::kOptimizer);
  }
  void iterate(int count = 8) {
    iterate(count, [] {});
  }

 private:
  FakePort& port_;
  Session& session_;
};

}  // namespace stowage::session
