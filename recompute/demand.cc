#include "recompute/demand.h"

#include <mutex>

#include "recompute/machine/machine.h"
#include "recompute/recompute.h"
#include "recompute/threads/training_threads.h"

namespace stowage::recompute {

std::optional<std::int64_t> bytes_away() {
  if (Runtime::replaying()) return std::nullopt;
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  std::int64_t bytes = 0;
  all.book.for_each([&](const StorageRecord& record) {
    if (record.away() && record.alive()) bytes += static_cast<std::int64_t>(record.bytes);
  });
  all.residency.spares().for_each_droppable(
      [&](const Spares::Spare& spare) { bytes -= static_cast<std::int64_t>(spare.bytes); });
  return bytes;
}

std::uint64_t threads_in_iterations() {
  if (Runtime::replaying()) return 0;
  const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
  return training_threads().count();
}

}  // namespace stowage::recompute
