// The techniques of place(): a switch for each, and its name.
//
// A new technique is a member here with its line in the table, a stage in refine.cc, and files of its own.
//
// Thread safety: a value, and constants.
#pragma once

#include <array>

namespace stowage::planner::placement {

/// What may be used, besides the greedy orders, which are always tried. The defaults measured best; the
/// ablation table of docs/results/placement.md shows what each is worth.
struct Techniques {
  bool boosting = true;     ///< greedy orders improved by moving what ends too high to the front
  bool exact = true;        ///< branch and bound at the bound or the capacity
  bool bisect = true;       ///< branch and bound between bound and best
  bool glue = true;         ///< pieces of equal lives taken for one, by a part of exact search
  bool windows = true;      ///< a few pieces at a time put back exactly
  bool window_ilp = false;  ///< these by lp_solve and not by branch and bound
  bool proofs = true;       ///< the bound raised by alignment, packing and search
  bool explain = true;      ///< a capacity that is proved too small is explained
};

/// A technique by the name that users have for it.
struct TechniqueSwitch {
  const char* name;
  bool Techniques::*value;
};

/// All of them.
inline constexpr std::array kTechniqueSwitches{
    TechniqueSwitch{"boosting", &Techniques::boosting}, TechniqueSwitch{"exact", &Techniques::exact},
    TechniqueSwitch{"bisect", &Techniques::bisect},     TechniqueSwitch{"glue", &Techniques::glue},
    TechniqueSwitch{"windows", &Techniques::windows},   TechniqueSwitch{"lp-solve", &Techniques::window_ilp},
    TechniqueSwitch{"proofs", &Techniques::proofs},     TechniqueSwitch{"explain", &Techniques::explain},
};

}  // namespace stowage::planner::placement
