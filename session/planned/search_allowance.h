// How long searches for lower plans may take: all together a share of the time that the job has run, so that
// a short job does not spend much of its CPU time on what they may save; and each no longer than a full
// search.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace stowage::session {

class SearchAllowance {
 public:
  static constexpr double kShare = 1.0 / 100;  ///< of the job's time, for all searches so far
  static constexpr double kMuch = 0.01;        ///< to save
  static constexpr double kShareForMuch = 1.0 / 4;
  static constexpr double kLeastSeconds = 0.03;  ///< shorter ones find little
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// The job's time begins now. No search takes more than `most_s` seconds, which must outlive it.
  explicit SearchAllowance(const double& most_s, Clock now = std::chrono::steady_clock::now);

  /// Seconds for a search that may save `worth`, as a share of the plans' height, and begins now; nullopt:
  /// not yet. Where all that can be saved is little, only a search of full length is worth it.
  std::optional<double> grant(double worth);
  /// The search, if there is one, is over or was cancelled.
  void end();
  /// A search was put off or cut short, and a longer one is allowed by now.
  [[nodiscard]] bool is_due() const { return due_s_ && ran_s() >= *due_s_; }
  /// Nothing more is searched for.
  void rest();

 private:
  [[nodiscard]] double ran_s() const;

  const double& most_s_;
  Clock now_;
  std::chrono::steady_clock::time_point begun_;
  std::optional<double> due_s_;
  double spent_s_ = 0;  ///< by searches that are over
  struct Search {
    double begun_s, most_s;
  };
  std::optional<Search> search_;  ///< under way, as far as is known
};

}  // namespace stowage::session
