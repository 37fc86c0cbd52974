// Which evictions are forced (forced_evictions.h).
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <limits>

#include "core/units.h"

namespace stowage::recompute {

struct Forced {
  std::uint32_t every = 0;  ///< ops between two times that storages are chosen; 0: nothing is forced
  std::uint64_t seed = 0;
  Bytes smallest{1};        ///< storages smaller than this are never chosen
  std::uint64_t first = 1;  ///< of the choices that are carried out, by number
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  bool tells = false;     ///< each eviction is told, with what made the tensor
  bool offloads = false;  ///< of two that are carried out, one is offloaded where that is legal
};

}  // namespace stowage::recompute
