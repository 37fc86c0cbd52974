// Which op launched which GPU work, and how long each op kept the GPU busy.
//
// Each op pushes an id of its own while it runs (source.h). CUPTI writes a record of that id beside each API
// call, and the call's correlation id into each piece of GPU work. Records come in no order, so this reads
// them twice: first ids and calls, then the work. An op's time is the length of the union of its intervals,
// never their sum: kernels overlap, on one stream too.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/activity.h"
#include "tracer/cupti/records/record.h"
#include "tracer/cupti/times/intervals.h"

namespace stowage::tracer::cupti {

/// One op, as the ids say: `id` is what it pushed, `parent` what the enclosing op on its thread had pushed.
struct OpenedOp {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  ///< 0: none
};

/// What an op did on its device, the ops inside it included. Times in CUPTI's ticks.
struct OpWork {
  std::uint64_t busy = 0;         ///< at least one of its kernels, copies or fills ran
  std::uint64_t copying = 0;      ///< of that, copies and fills
  std::uint64_t overlapping = 0;  ///< of that, while work ran on another stream too
  std::uint64_t waiting = 0;      ///< its calls waited for the device
  std::uint64_t span = 0;         ///< from the begin of its first work to the end of its last
  std::uint32_t launches = 0;     ///< kernels
  std::uint32_t stream = 0;       ///< on which it was busy longest, as CUPTI numbers streams
};

struct Attribution {
  std::vector<OpWork> work;          ///< by op
  std::vector<std::uint32_t> op_of;  ///< by record: index of the innermost op, or kNoOpIndex
  static constexpr std::uint32_t kNoOpIndex = ~std::uint32_t{0};
};

/// `ops` in order of id. Of the records those count that are on `device`. Adds to `losses` what cannot be
/// attributed. O(n log n) for n records and ops of bounded depth.
Attribution attribute(const std::vector<Record>& records, const std::vector<OpenedOp>& ops,
                      std::uint32_t device, ActivityLosses& losses);

/// Launches among `records` without GPU work: it is not there yet, was captured into a graph, or is lost.
std::uint64_t missing_work(const std::vector<Record>& records);

}  // namespace stowage::tracer::cupti
