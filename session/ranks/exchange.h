// One piece of work that several ranks need: the first to claim it does it, the others get the result.
//
// In the group's store a piece of work has a name. Each rank adds one to a count beside it: who finds 1 does
// the work and puts the result there, an empty one if it failed. The others look for it, at first often, then
// less and less, so that the looks of a rank grow with the logarithm of the time, and the first one comes the
// later the more ranks there are. If nothing is there after `patience` the claimant is taken for dead, and
// there is a second count for who replaces it; if that comes to nothing as well, everybody does the work for
// itself. So nobody waits for ever, and a store that fails only means that nothing is shared.
//
// Thread safety: one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "session/ports/rank_group.h"
#include "session/ranks/store_thread.h"

namespace stowage::session {

struct ExchangeLimits {
  std::chrono::milliseconds call{2000};      ///< for one call of the store; then it counts as lost
  std::chrono::milliseconds patience{3000};  ///< with a claimant
  std::chrono::microseconds first_look{1000};
  std::chrono::microseconds for_each_rank{50};  ///< that much later comes the first look
  double slower = 0.125;                        ///< the next look comes after this share of the time so far
  int claimants = 2;
  std::size_t most_bytes = std::size_t{16} << 20;  ///< a larger result is not put there
};

class Exchange {
 public:
  using Value = RankStore::Value;
  struct Counts {
    std::uint64_t looks = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::chrono::nanoseconds waited{0};
    std::string failure;  ///< why the store was given up; "" otherwise
  };

  Exchange(const RankGroup& group, std::string name, const ExchangeLimits& limits, std::stop_token stop);

  /// What another rank made, waiting for it; or nothing: the caller has to do the work.
  std::optional<Value> claim_or_receive();
  /// The work is this rank's: others may wait for publish().
  [[nodiscard]] bool claimed() const { return claimed_; }
  /// Puts the result there, empty for a failure. `even_unasked`: also where no other rank has asked so far.
  /// Requires: claimed().
  void publish(Value result, bool even_unasked);
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] std::string claims_of(int claimant) const;
  std::optional<std::int64_t> add(const std::string& key, std::int64_t amount);
  std::optional<Value> look();
  std::optional<Value> wait_for_result();
  [[nodiscard]] bool failed() const { return !counts_.failure.empty(); }

  const std::string name_;
  const ExchangeLimits limits_;
  const std::chrono::nanoseconds first_look_;
  const std::stop_token stop_;
  StoreThread store_;
  Counts counts_;
  int claimant_ = 0;
  bool claimed_ = false;
};

}  // namespace stowage::session
