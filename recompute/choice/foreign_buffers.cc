#include "recompute/choice/foreign_buffers.h"

namespace stowage::recompute {

std::int64_t ForeignBuffers::add(const stowage_evictable& owner, std::uint64_t now) {
  buffers_[next_id_] = {owner, now};
  return next_id_++;
}

bool ForeignBuffers::use(std::int64_t id, std::uint64_t now) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return false;
  ForeignBuffer& buffer = at->second;
  ++buffer.uses;  // before restoring: that allocates, and may make room
  if (buffer.evicted && buffer.owner.restore(buffer.owner.context) == 0) {
    --buffer.uses;
    return false;
  }
  buffer.evicted = buffer.refused = false;
  buffer.last_use = now;
  return true;
}

void ForeignBuffers::done(std::int64_t id) {
  const auto at = buffers_.find(id);
  if (at != buffers_.end() && at->second.uses > 0) --at->second.uses;
}

bool ForeignBuffers::evict(ForeignBuffer& buffer) {
  buffer.evicted = buffer.owner.evict(buffer.owner.context) != 0;
  buffer.refused = !buffer.evicted;
  return buffer.evicted;
}

}  // namespace stowage::recompute
