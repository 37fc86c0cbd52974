// All members of the search's portfolio at one capacity, and what they have learnt there.
//
// Thread safety: none; members run in parallel inside a round.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "planner/placement/search/glue.h"
#include "planner/placement/search/minimise.h"
#include "planner/placement/search/restarts.h"

namespace stowage::planner::placement::search {

/// An instance with time running either way.
struct Twins {
  Model forward, backward;
};

/// What the members of a hunt search: the instance, and the same with pieces glued, if any can be.
struct Views {
  Views(const Instance& instance, bool with_glue, const Limits& limits);

  Twins whole;
  std::optional<Glued> glued;
  Twins of_glued;  ///< if there is one
};

class Hunt {
 public:
  /// Requires: instance, views and options outlive the hunt. Not to be run if `limits` say stop after it.
  Hunt(const Instance& instance, const Views& views, std::uint64_t capacity, const PortfolioOptions& options,
       const Limits& limits);

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  /// Rounds until there is an answer, `budget` units of work are done or the limits are over. `work`: adds
  /// what was done, up to the winner.
  Outcome run(std::uint64_t budget, const Limits& limits, std::uint64_t& work);

  /// The placement. Requires: the last run() said kFound.
  void write(Draft& draft) const;

 private:
  /// A placement of glued pieces is one of the whole; that they have none proves nothing.
  struct Member {
    std::unique_ptr<Restarts> search;
    bool glued = false;
    bool done = false;  ///< the glued pieces have no placement
  };

  Outcome round(std::uint64_t share, const Limits& limits, std::uint64_t& work);

  const Instance* instance_;
  const PortfolioOptions* options_;
  std::uint64_t capacity_;
  const Views* views_;
  std::vector<Member> members_;
  std::uint32_t winner_ = 0;
};

}  // namespace stowage::planner::placement::search
