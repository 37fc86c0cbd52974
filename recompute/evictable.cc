#include "recompute/evictable.h"

#include "recompute/machine/machine.h"

using stowage::recompute::Machine;
using stowage::recompute::machine;

int64_t stowage_evictable_add(const stowage_evictable* buffer) {
  if (buffer == nullptr || buffer->bytes == 0 || buffer->evict == nullptr || buffer->restore == nullptr)
    return -1;
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  return all.foreign.add(*buffer, all.op_number);
}

int stowage_evictable_use(int64_t id) {
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  return all.foreign.use(id, all.op_number) ? 1 : 0;
}

void stowage_evictable_done(int64_t id) {
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  all.foreign.done(id);
}

void stowage_evictable_remove(int64_t id) {
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  all.foreign.remove(id);
}
