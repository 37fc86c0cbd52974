// The walk behind sweep(): one pass through the iteration with what is away when it begins given.
//
// sweeper.cc goes from event to event and chooses what leaves; sweeper_restores.cc brings back what ops need.
// Thread safety: none. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/sweeps/ranking.h"
#include "planner/schedule/sweeps/scores.h"
#include "planner/schedule/sweeps/sweep.h"

namespace stowage::planner::schedule {

class Sweeper {
 public:
  /// What is behind the iteration's ends.
  struct Ends {
    std::vector<std::uint32_t> away;  ///< lasting buffers that it begins with offloaded, ascending
    bool closed = false;              ///< no others may be away when it ends
  };
  /// All arguments outlive it.
  Sweeper(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights,
          const std::vector<Step>& first, const Ends& ends);

  /// Once. Of those that are away at the beginning, the result offloads before op 0 what it does not leave
  /// away.
  Sweep run();
  /// The lasting buffers that are away now, ascending.
  [[nodiscard]] std::vector<std::uint32_t> lasting_away() const;

 private:
  bool take(const OpGraph::Event& event);
  void list(std::uint32_t buffer);
  bool begin(std::uint32_t op);
  bool bring_back_inputs(std::uint32_t op);
  bool bring_back_hardest_first(std::uint32_t op);
  void end(std::uint32_t op);
  bool act(const Step& step);
  void protect_others(const Step& step, int by);
  bool fail(std::uint64_t need);

  bool bring_back(std::uint32_t buffer);
  bool bring_back_with(std::uint32_t buffer, std::vector<std::uint32_t>& parts);
  bool bring_back_a_part(std::uint32_t buffer, const Model::Replay& replay,
                         std::vector<std::uint32_t>& parts);
  bool bring_back_some_part(std::uint32_t buffer, const Model::Replay& replay,
                            std::vector<std::uint32_t>& parts);
  void bring_back_now(std::uint32_t buffer, const Model::Replay& replay);
  void protect(const Model::Replay& replay, int by);

  bool evict_one();
  [[nodiscard]] std::optional<Ranking::Entry> ranked(std::uint32_t buffer, bool may_evict);
  [[nodiscard]] bool may_offload(std::uint32_t buffer) const;
  [[nodiscard]] bool leave(std::uint32_t buffer, ActionKind way);
  void emit(std::uint32_t buffer, ActionKind way);

  const OpGraph& graph_;
  const std::vector<Step>& first_;
  const Ends& ends_;
  std::size_t next_first_ = 0;
  Model model_;
  const std::uint64_t budget_;
  const std::uint64_t smallest_;
  const bool copies_;        ///< what leaves may be copied
  const bool inputs_leave_;  ///< Weights'
  Scores scores_;
  std::uint32_t op_ = 0;
  std::vector<std::uint32_t> idle_since_;   ///< by buffer: before which op it may leave at the earliest
  std::vector<int> protected_;              ///< by buffer
  std::vector<std::uint32_t> candidates_;   ///< buffers that the job has
  std::vector<bool> listed_;                ///< by buffer: once among the candidates
  std::vector<Step> restored_;              ///< at this op, and not yet among its actions
  std::vector<std::vector<Step>> early_;    ///< by op: leaves before all else
  std::vector<std::vector<Step>> in_turn_;  ///< by op
  std::vector<std::vector<std::uint32_t>> held_until_;  ///< by op: restored early for it
  Ranking ranking_;
  bool is_ranked_ = false;  ///< ranking_ is of this op, and nothing was recomputed since
  std::optional<std::uint64_t> missing_;
  std::optional<Step> failed_;
  int parts_brought_ = 0;
  std::uint64_t looks_ = 0;  ///< values looked at for parts
};

}  // namespace stowage::planner::schedule
