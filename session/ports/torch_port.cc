#include "session/ports/torch_port.h"

namespace stowage::session {
namespace {

class NoTorch final : public TorchPort {
 public:
  void watch_steps() override {}
  std::uint32_t observe_ops(std::shared_ptr<tracer::Recorder>, const Device&, DevicePort&) override {
    return 1;
  }
  void unobserve_ops(const Device&) override {}
  void finish_ops(tracer::Recorder&, const Device&) override {}

  [[nodiscard]] bool guards_are_known() const override { return false; }
  Status begin_rescue() override {
    return Error{ErrorCode::kUnsupported, "this build has no runtime that can hold a budget"};
  }
  Status join_rescue(bool) override { return begin_rescue(); }
  bool call_between_ops(std::function<void()>) override { return false; }
  void end_rescue() override {}

  void end_iteration() override {}
  void note_limit(Bytes, const Device&) override {}
  bool make_room(Bytes, const Device&) override { return false; }
  [[nodiscard]] bool recomputes() const override { return false; }
  [[nodiscard]] bool may_fail() const override { return false; }
  Bytes gather_lasting(const Device&) override { return Bytes(0); }
  bool make_contiguous_room(Bytes, const Device&, const FreeSpace&) override { return false; }
  [[nodiscard]] Bytes evictable(const Device&) const override { return Bytes(0); }
  std::string explain(const Shortage&, const Device&) override { return {}; }
  [[nodiscard]] RuntimeCounters counters() const override { return {}; }
  [[nodiscard]] std::optional<std::int64_t> bytes_away() const override { return std::nullopt; }
  [[nodiscard]] std::uint64_t threads_in_iterations() const override { return 0; }

  std::uint32_t record_next(DevicePort*) override { return 1; }
  std::optional<Result<StepLog>> take_log() override { return std::nullopt; }
  Status follow(const Schedule&) override { return {}; }
  void leave() override {}
  [[nodiscard]] FollowCounters follow_counters() const override { return {}; }

  [[nodiscard]] std::optional<RankGroup> rank_group() override { return std::nullopt; }
};

}  // namespace

TorchPort& no_torch() {
  static auto* const instance = new NoTorch;
  return *instance;
}

}  // namespace stowage::session
