// Schedules for further kinds of iterations, beside the one that is followed: an evaluation between steps,
// the micro-step that reduces gradients, a step with one loss more.
//
// Iterations whose ops no schedule is for leave what is followed, and rescue evicts in them. Once one kind
// did so twice, the iteration that is as far from the last one as that from the one before is logged:
// evaluations and checkpoints mostly come at intervals. If that was of a kind with a schedule, or needed no
// room, further ones are logged. A schedule is made of the log in the background, and the runtime follows it
// too. What that does not find is looked for again after twice as many.
//
// Ops of a shape that the first schedule's log has take the time that they took there: one iteration is too
// short to time them anew.
//
// Thread safety: none; the conductor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/schedule/background.h"
#include "session/plans/kept_schedules.h"
#include "session/ports/torch_port.h"

namespace stowage::session {

class FurtherSchedules {
 public:
  using Maker = planner::schedule::BackgroundScheduler::Maker;
  static constexpr std::uint64_t kMost = 7;         ///< schedules
  static constexpr std::uint64_t kTimesLeft = 2;    ///< iterations of a kind that leave, then it is logged
  static constexpr std::uint64_t kMostLogged = 12;  ///< iterations, for one kind

  /// `wait`: how long to wait for a requested schedule. `kept`: those of other runs; null: there are none.
  FurtherSchedules(TorchPort& torch, std::chrono::milliseconds wait, Maker maker, KeptSchedules* kept)
      : torch_(torch), wait_(wait), kept_(kept), scheduler_(std::move(maker)) {}

  /// `first` is followed. `log`: what it was made of; null: that is not known. Unless it is for the ops of
  /// the one before it, there are no further ones.
  void begin(const Schedule& first, const StepLog* log);
  /// Nothing is followed any more.
  void stop();
  /// An iteration ended; the runtime will be told next. `strayed`: it had ops that no schedule is for, of
  /// this hash, and rescue evicted something in it.
  void before_end(bool strayed, std::uint64_t ops_hash);
  /// An iteration ended; the runtime has been told. `budget`: bytes that a schedule may hold.
  void after_end(Bytes budget);
  /// From now on a schedule may hold `budget` bytes: those that are followed are made again. Those for which
  /// there is none go on as they are.
  void remake(Bytes budget);
  /// An iteration is being logged, or a schedule made.
  [[nodiscard]] bool is_learning() const { return is_searching() || is_making(); }
  /// The iteration that begins is logged.
  [[nodiscard]] bool logs() const { return logging_; }
  /// Further schedules that are followed.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  struct Time {
    std::uint64_t ns;
    TimeSource source;
  };
  struct Strays {
    std::uint64_t times = 0;
    std::uint64_t last = 0;  ///< mark
  };
  /// Iterations are logged; not while the one that is worth it is some way off.
  [[nodiscard]] bool is_searching() const { return to_look_at_ != 0 && (logging_ || mark_ + 1 >= next_log_); }
  [[nodiscard]] bool is_making() const { return scheduler_.busy() || remade_ < logs_.size(); }
  void note_stray(std::uint64_t ops_hash);
  void take_schedule();
  void remake_next();
  void take_log(Bytes budget);
  void borrow_times(StepLog& log) const;
  void end_search();
  void give_up_search();

  TorchPort& torch_;
  const std::chrono::milliseconds wait_;
  KeptSchedules* const kept_;
  planner::schedule::BackgroundScheduler scheduler_;
  std::uint64_t first_ = 0;                 ///< hash_of_ops()
  std::set<std::uint64_t> known_;           ///< by hash_of_ops(): followed, or none could be made
  std::map<std::uint64_t, Time> times_;     ///< by an op's shape
  std::map<std::uint64_t, Strays> strays_;  ///< by the hash of their ops
  std::uint64_t patience_ = kTimesLeft;     ///< iterations of a kind before it is looked for
  std::uint64_t mark_ = 0;                  ///< the last one
  bool strayed_ = false;                    ///< the iteration before it
  std::uint64_t to_look_at_ = 0;            ///< iterations that may still be logged in this search
  std::uint64_t next_log_ = 0;              ///< the mark that the next one begins at
  bool logging_ = false;                    ///< an iteration, from the last mark or the next one on
  bool asked_log_ = false;                  ///< at the last mark
  bool asked_schedule_ = false;             ///< at the last mark
  std::uint64_t count_ = 0;
  std::vector<std::shared_ptr<const StepLog>> logs_;  ///< of the further schedules that are followed
  std::shared_ptr<const StepLog> log_;                ///< of the one that is being made
  std::size_t remade_ = 0;                            ///< of logs_
  Bytes remake_budget_{0};
};

}  // namespace stowage::session
