// Buffers of other code that registered as evictable (recompute/evictable.h), and their scores.
//
// Thread safety: none; the runtime's lock guards it. Invariants: a buffer in use is resident.
#pragma once

#include <cstdint>
#include <map>

#include "recompute/evictable.h"
#include "recompute/storage/place.h"

namespace stowage::recompute {

struct ForeignBuffer {
  stowage_evictable owner{};
  std::uint64_t last_use = 0;
  std::uint32_t uses = 0;
  bool evicted = false;
  bool refused = false;  ///< its owner refused the last eviction, and it was not used since
};

class ForeignBuffers {
 public:
  /// The new buffer's id. Requires: both callbacks are set and bytes > 0.
  std::int64_t add(const stowage_evictable& owner, std::uint64_t now);
  /// See stowage_evictable_use.
  bool use(std::int64_t id, std::uint64_t now);
  void done(std::int64_t id);
  void remove(std::int64_t id) { buffers_.erase(id); }

  /// Calls `visit` with each buffer that may be evicted there.
  template <class Visit>
  void for_each_evictable(Place place, Visit visit) {
    for (auto& [id, buffer] : buffers_) {
      if (!buffer.evicted && buffer.uses == 0 && lies_at(buffer, place)) visit(buffer);
    }
  }
  /// Calls `visit` with each that is there.
  template <class Visit>
  void for_each_resident(Place place, Visit visit) const {
    for (const auto& [id, buffer] : buffers_) {
      if (!buffer.evicted && lies_at(buffer, place)) visit(buffer);
    }
  }
  /// False if the owner would not.
  static bool evict(ForeignBuffer& buffer);

 private:
  static bool lies_at(const ForeignBuffer& buffer, Place place) {
    return place.covers(buffer.owner.device_type, buffer.owner.device_index);
  }

  std::map<std::int64_t, ForeignBuffer> buffers_;
  std::int64_t next_id_ = 1;
};

}  // namespace stowage::recompute
