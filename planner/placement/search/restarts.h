// One member of the search's portfolio: a search that gives up, changes its order and starts over.
//
// What it learnt, the failed states, it keeps. Rules and orders go round; after a cycle of all orders these
// are disturbed at random, and after some cycles the number of nodes doubles. A member of a portfolio does
// every so many of these restarts.
//
// Source: restarts against heavy tails (Gomes, Selman and Kautz, 1998).
// Thread safety: none.
#pragma once

#include <cstdint>

#include "planner/placement/search/tree.h"

namespace stowage::planner::placement::search {

class Restarts {
 public:
  /// Requires: the model outlives this; the instance's obstacles are within the capacity.
  Restarts(const Model& model, Units capacity, const SearchOptions& options);
  Restarts(const Restarts&) = delete;
  Restarts& operator=(const Restarts&) = delete;

  /// One search of a limited number of nodes; of any number without options.restarts.
  Outcome next(WorkMeter& meter);

  /// The placement. Requires: the last next() said kFound.
  void write(const Instance& instance, Draft& draft) const;

 private:
  SearchOptions options_;
  State state_;
  FailedStates failed_;
  Brancher brancher_;
  Tree tree_;
  std::uint32_t restart_ = 0;
};

}  // namespace stowage::planner::placement::search
