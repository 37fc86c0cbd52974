// What a sweep compares buffers by when one of them has to go: what it costs to bring it back, how much room
// it leaves and for how long.
//
// Thread safety: none. Deterministic.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

inline constexpr double kNoCopies = std::numeric_limits<double>::infinity();

/// How candidates are compared: least cost^cost_power / (bytes^bytes_power * gap^gap_power) goes first.
struct Weights {
  double cost_power = 1;
  double bytes_power = 1;
  double gap_power = 1;
  double copies = 1;   ///< the part of a copy's time that counts; kNoCopies: nothing is copied
  bool always = true;  ///< so it counts always, or only while copies so far took less than the ops
  double noise = 0;    ///< a score is multiplied by up to 1 + noise
  std::uint64_t seed = 0;
  /// By op (OverheadBound): a gap is worth these, and a little for its time. Null: its time.
  const std::vector<double>* prices = nullptr;
  bool shared = false;  ///< each output of an op costs a share of running it again
  /// While one input of an op is brought back, its others may leave: what is hardest to bring back comes
  /// first.
  bool inputs_leave = false;
};

/// About what looking at one value costs, in steps of about 1 ns.
inline constexpr std::uint64_t kLookWork = 30;

class Scores {
 public:
  /// `graph` and `model`, which is asked what is in memory, must outlive it.
  Scores(const OpGraph& graph, const Model& model, const Weights& weights);

  struct Best {
    double score;
    ActionKind way;  ///< kEvict or kOffload
  };
  /// Of `buffer` before `op`, in the way that costs less of those that may be; the least goes first.
  /// Requires: ops come in order.
  std::optional<Best> of(std::uint32_t buffer, std::uint32_t op, bool may_evict, bool may_offload);
  /// Spent so far, in steps of about 1 ns.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  struct Copies {
    std::uint64_t cost_ns;
    double gap;  ///< at most so much of it is worth that
  };
  [[nodiscard]] Copies copies_of(std::uint32_t buffer) const;
  std::uint64_t runs_of(std::uint32_t buffer);
  [[nodiscard]] double score_of(std::uint32_t buffer, std::uint64_t cost_ns, double gap) const;
  [[nodiscard]] double least_gap() const { return worth_.empty() ? 1 : std::numeric_limits<double>::min(); }
  void add_prices();
  [[nodiscard]] double worth_of(std::uint64_t op) const;
  [[nodiscard]] double gap_of(std::uint32_t buffer);
  std::uint64_t cost_of(std::uint32_t value);
  std::uint64_t next_need(std::uint32_t value);
  std::uint64_t next_touch(std::uint32_t buffer);

  const OpGraph& graph_;
  const Model& model_;
  const Weights weights_;
  std::uint32_t op_ = 0;
  std::vector<double> clock_;                        ///< by op, ns
  std::vector<double> worth_;                        ///< by op; empty: clock_ is
  std::vector<std::uint32_t> next_touch_;            ///< by buffer: index into OpGraph::touched
  std::vector<std::uint64_t> op_seen_, value_seen_;  ///< the latest look that came by
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::uint64_t work_ = 0;
};

}  // namespace stowage::planner::schedule
