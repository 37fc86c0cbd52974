// How long searches for lower plans may take: a share of the time that the job has run, so that a short job
// does not spend much of its CPU time on what they may save, and a long one no more than a full search.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace stowage::session {

class SearchAllowance {
 public:
  static constexpr double kShare = 1.0 / 8;  ///< of the job's time, for one search
  static constexpr double kMuch = 0.01;      ///< to save
  static constexpr double kShareForMuch = 0.5;
  static constexpr double kLeastSeconds = 0.03;  ///< shorter ones find little
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// The job's time begins now. No search takes more than `most_s` seconds, which must outlive it.
  explicit SearchAllowance(const double& most_s, Clock now = std::chrono::steady_clock::now);

  /// Seconds for a search that may save `worth`, as a share of the plans' height; nullopt: not yet. Where all
  /// that can be saved is little, only a search of full length is worth it.
  std::optional<double> grant(double worth);
  /// A search was put off or cut short, and a longer one is allowed by now.
  [[nodiscard]] bool is_due() const { return due_s_ && ran_s() >= *due_s_; }
  /// Nothing more is searched for.
  void rest() { due_s_.reset(); }

 private:
  [[nodiscard]] double ran_s() const;

  const double& most_s_;
  Clock now_;
  std::chrono::steady_clock::time_point begun_;
  std::optional<double> due_s_;
};

}  // namespace stowage::session
