// The simulated CUPTI's state: which kinds are enabled, ids that clients pushed, and work that is not done
// yet.
//
// As in the real library: records of calls are written when the call ends, those of work once the work is
// complete (the host's virtual clock has passed its end), at a later call or a flush. Nothing is written down
// while no kind is enabled. Thread safety: every member, from any thread.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/device/activity/activity.h"
#include "simulator/stand_ins/cupti/buffers.h"
#include "simulator/stand_ins/cupti/callbacks.h"
#include "simulator/stand_ins/cupti/clock.h"

namespace stowage::simulator {

class Profiler final : public ActivitySink {
 public:
  static Profiler& get();

  void enable(CUpti_ActivityKind kind, bool enabled);
  /// No record of one function of an API from now on, or again.
  void mute(ApiDomain domain, std::uint32_t id, bool muted);
  void push(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
  /// The id that was pushed last; nothing if there is none.
  bool pop(CUpti_ExternalCorrelationKind kind, std::uint64_t& last);
  /// Writes the records of complete work, of all work if `forced`, and returns the buffers.
  void flush(bool forced);
  void use_system_thread_ids(bool system) { system_thread_ids_.store(system); }
  [[nodiscard]] bool system_thread_ids() const { return system_thread_ids_.load(); }
  /// To be called when `callbacks` were changed, too: nothing is told while nobody listens.
  void listen_if_wanted();
  /// Nothing is enabled, pushed or subscribed any more.
  void detach();

  void begin_call(ApiCall& call) override;
  void end_call(const ApiCall& call, VirtualNs begin, VirtualNs end) override;
  void add(const Work& work) override;
  void add(const Wait& wait) override;
  void add(const MemoryOperation& operation) override;

  ActivityBuffers buffers;
  Callbacks callbacks;
  ActivityClock clock;

 private:
  using Pending = std::variant<Work, Wait, MemoryOperation>;
  [[nodiscard]] bool wants(CUpti_ActivityKind kind) const {
    return enabled_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  void add_pending(CUpti_ActivityKind kind, const Pending& pending);
  std::vector<RawRecord> take_complete(VirtualNs now, bool forced);
  RawRecord record_of(const Pending& pending, VirtualNs now);
  RawRecord record_of(const Work& work, VirtualNs now);
  void write(std::vector<RawRecord> records);
  void add_externals(const ApiCall& call, std::vector<RawRecord>& records) const;

  std::array<std::atomic<bool>, 64> enabled_{};
  std::atomic<std::uint32_t> last_correlation_{0};
  std::atomic<bool> system_thread_ids_{false};
  std::mutex mutex_;
  std::vector<Pending> pending_;
  std::set<std::pair<ApiDomain, std::uint32_t>> muted_;
};

}  // namespace stowage::simulator
