// At which ops of an iteration room had to be made. What is away at other times serves nobody: a storage is
// worth evicting by the room that is needed while it is idle, not by how long it is.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::recompute {

class RoomNeeds {
 public:
  /// `bytes` were freed at the iteration's op `op`. Ops come in order.
  void note(std::uint64_t op, std::uint64_t bytes) {
    if (op >= kMost) return;
    if (op >= present_.size()) present_.resize(op + 1);
    present_[op] += static_cast<double>(bytes);
  }
  /// The iteration, of so many ops, ended. The first few in which room was needed are learned from, the last
  /// of them most: choices and needs follow each other, and steady iterations are to choose the same.
  void end_iteration(std::uint64_t ops) {
    if (!present_.empty() && learned_ < kLearned) learn(std::min<std::uint64_t>(ops, kMost));
    present_.clear();
  }
  /// Other needs are to come: those that were learned count until there are new ones.
  void learn_again() { learned_ = 0; }
  /// How much of an iteration's room is needed behind its op `from` up to its op `to`, in ops: of room that
  /// is needed evenly, their number. Requires: from <= to.
  [[nodiscard]] double between(std::uint64_t from, std::uint64_t to) const {
    const auto ops = static_cast<double>(to - from);
    const double all = until_.empty() ? 0 : until_.back();
    if (all <= 0) return ops;
    const double share = (at(to) - at(from)) / all;
    return share * static_cast<double>(until_.size() - 1) + kLeastShare * ops;
  }

 private:
  static constexpr int kLearned = 4;                // iterations
  static constexpr std::uint64_t kMost = 1u << 22;  // beyond, a job has no iterations
  static constexpr double kLeastShare = 1.0 / 8;  // of two that are idle while as much is needed, the longer

  void learn(std::uint64_t ops) {
    ++learned_;
    present_.resize(ops);
    mean_.resize(ops);
    until_.assign(ops + 1, 0);
    for (std::size_t op = 0; op < ops; ++op) {
      mean_[op] = (mean_[op] + present_[op]) / 2;
      until_[op + 1] = until_[op] + mean_[op];
    }
  }
  [[nodiscard]] double at(std::uint64_t op) const {
    return until_[std::min<std::size_t>(op, until_.size() - 1)];
  }

  int learned_ = 0;
  std::vector<double> present_, mean_;  // bytes, by op
  std::vector<double> until_;           // the sum of the means before an op
};

}  // namespace stowage::recompute
