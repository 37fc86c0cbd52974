// Torch for session tests: it notes what it was told, and says what the test put there.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "session/ports/runtime_users.h"
#include "session/ports/torch_port.h"

namespace stowage::session {

class FakeTorch final : public TorchPort {
 public:
  FakeTorch() {
    guarded = false;
    users_.set_guard_placer([](int place) {
      if (place < 2) guarded = place == 1;
      return 0;
    });
  }

  void watch_steps() override {}
  std::uint32_t observe_ops(std::shared_ptr<tracer::Recorder>, const Device&, DevicePort&) override {
    observing_ops = true;
    return iterations_with_ops;
  }
  void unobserve_ops(const Device&) override { observing_ops = false; }
  void finish_ops(tracer::Recorder&, const Device&) override { observing_ops = false; }

  [[nodiscard]] bool guards_are_known() const override { return users_.guards_are_known(); }
  Status begin_rescue() override { return users_.begin(); }
  Status join_rescue(bool) override {
    ++joins;
    return users_.begin();
  }
  bool call_between_ops(std::function<void()> work) override {
    ++calls_asked;
    if (!has_python) return false;
    between_ops = std::move(work);
    return true;
  }
  void end_rescue() override { users_.end(); }

  void end_iteration() override {
    const bool logged = recording_ && ++logged_ == iterations_logged;
    if (logged) log_ = iteration;
    if (std::exchange(wanted_, false)) {
      recording_ = true;
      logged_ = 0;
    } else if (logged) {
      recording_ = false;
    }
  }
  Bytes gather_lasting(const Device&) override {
    ++gathered;
    if (on_gather) on_gather();
    return Bytes(0);
  }
  bool make_room(Bytes, const Device&) override {
    ++rooms_asked;
    return searches_in_vain-- == 0;
  }
  [[nodiscard]] bool recomputes() const override { return recomputing; }
  [[nodiscard]] bool may_fail() const override { return may_fail_now; }
  bool make_contiguous_room(Bytes, const Device&, const FreeSpace&) override { return false; }
  [[nodiscard]] Bytes evictable(const Device&) const override { return evictable_bytes; }
  std::string explain(const Shortage&, const Device&) override { return "nothing is left"; }
  [[nodiscard]] RuntimeCounters counters() const override {
    RuntimeCounters now = counts;
    now.evicted = Bytes(static_cast<std::uint64_t>(away));
    return now;
  }
  [[nodiscard]] std::optional<std::int64_t> bytes_away() const override { return away; }
  void note_limit(Bytes limit, const Device&) override { noted_limit = limit; }
  [[nodiscard]] std::uint64_t threads_in_iterations() const override { return threads; }

  std::uint32_t record_next(DevicePort*) override {
    ++recordings;
    wanted_ = true;
    return iterations_logged;
  }
  std::optional<Result<StepLog>> take_log() override { return std::exchange(log_, std::nullopt); }
  Status follow(const Schedule&) override {
    if (follow_fails) return Error{ErrorCode::kInvalidPlan, "out of order"};
    ++followed;
    follows = true;
    return {};
  }
  void leave() override { follows = false; }
  [[nodiscard]] FollowCounters follow_counters() const override { return follow_counts; }
  [[nodiscard]] std::optional<RankGroup> rank_group() override { return ranks; }

  inline static bool guarded = false;  ///< Python's guards are there; who places them knows no object
  bool has_python = true;
  std::function<void()> between_ops;  ///< what is to be called there
  int calls_asked = 0;
  int joins = 0;
  int gathered = 0;  ///< times that what lasts was moved
  std::function<void()> on_gather;
  bool observing_ops = false;
  std::uint32_t iterations_with_ops = 1;
  bool installed = false;
  bool install_throws = false;
  RuntimeCounters counts;  ///< but for what is away
  FollowCounters follow_counts;
  std::int64_t away = 0;
  Bytes noted_limit{0};
  bool may_fail_now = false;
  Bytes evictable_bytes{0};
  std::uint64_t threads = 1;
  std::atomic<int> searches_in_vain{-1};  ///< then one finds room; < 0: none ever does
  std::atomic<int> rooms_asked{0};
  std::uint32_t iterations_logged = 1;
  int recordings = 0;                        ///< asked for
  std::optional<Result<StepLog>> iteration;  ///< the log of each that is written down
  bool follow_fails = false;
  bool recomputing = false;  ///< this thread
  bool follows = false;
  int followed = 0;  ///< schedules
  std::optional<RankGroup> ranks;

 private:
  Status install() {
    if (install_throws) throw std::runtime_error("torch is out of order");
    installed = true;
    return {};
  }
  RuntimeUsers users_{[this] { return install(); }, [this] { installed = false; }};
  bool wanted_ = false;
  bool recording_ = false;
  std::uint32_t logged_ = 0;
  std::optional<Result<StepLog>> log_;
};

}  // namespace stowage::session
