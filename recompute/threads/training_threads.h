// Which threads of the job train, and since when the present iteration of each runs.
//
// Where several threads train in one process, an iteration of one ends in the middle of a graph of another.
// What that one has used since its own last iteration ended must keep its history then.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>

namespace stowage::recompute {

class TrainingThreads {
 public:
  /// A thread may begin to train, at op `now`.
  void join(std::thread::id thread, std::uint64_t now);
  /// An iteration of `thread` ended after op `now`. The number of an op: what no later one used belongs to
  /// iterations that have ended, of all threads.
  std::uint64_t end_iteration(std::thread::id thread, std::uint64_t now);
  /// Threads that are in an iteration, or were until lately.
  [[nodiscard]] std::size_t count() const { return seats_.size(); }
  void clear() { seats_.clear(); }

 private:
  struct Seat {
    std::uint64_t began = 0;   ///< number of the last op before its present iteration
    std::uint32_t others = 0;  ///< iterations of other threads that ended since
  };
  std::map<std::thread::id, Seat> seats_;
};

/// Those of the process; never destroyed.
TrainingThreads& training_threads();

}  // namespace stowage::recompute
