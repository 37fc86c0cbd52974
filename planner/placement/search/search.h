// Exact branch and bound: finds a placement within a capacity, or proves that there is none.
//
// Skyline search: the section with the lowest floor and the fewest tasks that can lie there is branched on.
// Either one of them lies on the floor, or none does, and then all of them rise to the lowest place where
// something could bear them. Where no task crosses from one section to the next the problem falls into parts
// that are solved on their own, the tightest first. Failed states are remembered across restarts. Every
// technique is a switch, so that its worth can be measured; none changes whether a placement exists.
//
// Sources: canonical placements, section bounds and decomposition are minimalloc's (Moffitt, ASPLOS 2023);
// the waste branch is strip packing's (Kenmochi et al., 2009); restarts with doubling limits and remembered
// dead ends come from satisfiability solvers.
//
// A failed state is remembered by a 64-bit hash. That two states share one has a chance of less than 1e-4 in
// a day of search; only then could a proof be wrong. A placement never is: the validator looks at it.
//
// Thread safety: reentrant. Deterministic for a given work limit.
#pragma once

#include <array>
#include <cstdint>

#include "planner/placement/instance/draft.h"
#include "planner/placement/search/state/model.h"

namespace stowage::planner::placement::search {

/// Which section is branched on. All are lowest plateaus: nothing can slide under what is placed there.
enum class Rule {
  kFewest,    ///< the lowest floor; there, the fewest ways to continue
  kPriority,  ///< the lowest floor; there, in the life of the task that comes first in the order
  kAnywhere,  ///< any floor lower than those beside it; there, the fewest ways to continue
};

inline constexpr std::uint32_t kRules = 3;

/// Which of the tasks that can lie on a floor is tried first.
enum class Order { kDuration, kTightness, kArea, kSize, kTightDuration, kTightLongArea, kDurationTightness };
inline constexpr std::uint32_t kOrders = 7;

/// One search. The defaults are what measured best; the switches are there for the ablation table.
struct SearchOptions {
  std::uint64_t seed = 1;
  Rule rule = Rule::kPriority;     ///< of the first restart; later ones take turns
  Order order = Order::kDuration;  ///< of the first restart; later ones go round
  bool reversed = false;           ///< time runs backwards
  std::uint32_t first_restart =
      0;  ///< the restarts of a portfolio are dealt out to its members: from this one
  std::uint32_t restart_stride = 1;  ///< every n-th
  bool restarts = true;              ///< give up after a number of nodes, which doubles, and start over
  bool vary = true;                  ///< restarts take turns with rules, and with orders after every two
  bool noise = true;                 ///< orders are disturbed once all have had their turn
  bool memo = true;                  ///< failed states are not entered again
  bool split = true;                 ///< parts are solved on their own
  bool tightest_first = true;        ///< of parts the one of least slack first
  bool lift = true;                  ///< "none lies here" raises tasks to the lowest place that bears them
  bool releases = false;  ///< sections are checked for room that must stay empty above their floors
  bool twins = true;      ///< of equal tasks only one is branched on
};

/// A switch of the search by the name that users have for it.
struct SearchSwitch {
  const char* name;
  bool SearchOptions::*value;
};

/// Those that the ablation table measures.
inline constexpr std::array kSearchSwitches{
    SearchSwitch{"restarts", &SearchOptions::restarts},
    SearchSwitch{"vary", &SearchOptions::vary},
    SearchSwitch{"noise", &SearchOptions::noise},
    SearchSwitch{"memo", &SearchOptions::memo},
    SearchSwitch{"split", &SearchOptions::split},
    SearchSwitch{"tightest-first", &SearchOptions::tightest_first},
    SearchSwitch{"lift", &SearchOptions::lift},
    SearchSwitch{"twins", &SearchOptions::twins},
    SearchSwitch{"releases", &SearchOptions::releases},
};

enum class Outcome {
  kFound,       ///< the draft holds offsets within the capacity
  kInfeasible,  ///< there is no placement within the capacity
  kOut,         ///< the meter stopped the search first
};

/// Looks for a placement within `capacity` bytes. Complete: it ends with kOut only when the meter says so, or
/// when nothing was found and some pieces have gaps: these are taken for solid, so that is no proof.
/// Requires: supports(instance, capacity).
Outcome search(const Instance& instance, std::uint64_t capacity, const SearchOptions& options,
               WorkMeter& meter, Draft& draft);

}  // namespace stowage::planner::placement::search
