// How the copies of a store run: beside the job's ops or not, and beside each other or not.
//
// Thread safety: a value.
#pragma once

#include <cstdint>

namespace stowage {

enum class CopyLanes : std::uint8_t {
  kNone = 0,  ///< the job waits for each
  kShared,    ///< beside ops, one after the other
  kEachWay,   ///< beside ops; those to the store beside those back, as over PCI Express
};

constexpr bool run_beside_ops(CopyLanes lanes) { return lanes != CopyLanes::kNone; }

}  // namespace stowage
