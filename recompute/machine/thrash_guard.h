// Whether recomputation takes most of the time: a job that makes everything again, again and again, should
// offload or end with an error rather than crawl.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>

namespace stowage::recompute {

class ThrashGuard {
 public:
  static constexpr std::uint64_t kFloorNs = 2'000'000'000;  ///< recomputation below this is never thrashing

  /// The job's own ops took `ns` more; on CUDA as modelled.
  void note_ops(std::uint64_t ns) { ops_ns_ += ns; }
  /// Ops that ran are judged from now on, and what was recomputed before (`replay_ns` in all) no more.
  void begin(std::uint64_t op_number, std::uint64_t replay_ns) {
    began_ = op_number;
    ops_ns_ = 0;
    before_ns_ = replay_ns;
  }
  /// Ops since it began.
  [[nodiscard]] std::uint64_t age(std::uint64_t op_number) const { return op_number - began_; }
  /// More than `limit` times the time of the job's own ops was recomputed; `replay_ns`: in all.
  [[nodiscard]] bool holds(std::uint64_t replay_ns, double limit) const {
    const std::uint64_t ns = replay_ns - before_ns_;
    return ns > kFloorNs && static_cast<double>(ns) > limit * static_cast<double>(ops_ns_);
  }

 private:
  std::uint64_t began_ = 0;  ///< number of an op
  std::uint64_t ops_ns_ = 0;
  std::uint64_t before_ns_ = 0;
};

}  // namespace stowage::recompute
