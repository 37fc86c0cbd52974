#include "recompute/lasting.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "recompute/away/moved_bytes.h"
#include "recompute/machine/machine.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

// Offloaded as no schedule says: it would come back in the midst of the iteration, wherever there is room.
bool is_rescued(const StorageRecord& record) { return record.offloaded && record.rescued && record.alive(); }

std::vector<StorageRecord*> lasting_in(Machine& all, Place place) {
  const std::unordered_set<std::uint64_t> scheduled = all.steps.follower().sent_away();
  std::vector<StorageRecord*> lasting;
  all.book.for_each([&](StorageRecord& record) {
    if (record.use_times == nullptr || !(may_move(record) || is_rescued(record))) return;
    if (!place.covers(record.address->device())) return;
    if (record.stream > 0) return;  // only of the default stream an allocator keeps what lasts apart
    if (!scheduled.contains(record.serial)) lasting.push_back(&record);
  });
  std::sort(lasting.begin(), lasting.end(),
            [](const StorageRecord* a, const StorageRecord* b) { return a->serial < b->serial; });
  return lasting;
}

}  // namespace

Bytes gather_lasting(int device_type, int device_index) {
  Machine& all = machine();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  Bytes moved(0);
  if (!all.on.load() || unseen_op_runs()) return moved;
  const Deeper may_fail(this_thread().may_fail);
  try {
    for (StorageRecord* const record : lasting_in(all, {device_type, device_index})) {
      if (is_rescued(*record)) {
        all.residency.restore(*record);
      } else if (may_move(*record)) {
        all.residency.offloader().settle(*record);
        move_bytes(*record);
      } else {
        continue;
      }
      moved += Bytes(record->bytes);
    }
  } catch (const c10::OutOfMemoryError&) {  // the rest stays where it is
  }
  return moved;
}

}  // namespace stowage::recompute
