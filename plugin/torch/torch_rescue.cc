#include "plugin/torch/torch_rescue.h"

#include <c10/core/DeviceType.h>

#include "recompute/demand.h"
#include "recompute/planned.h"
#include "recompute/recompute.h"
#include "session/budget/rescue.h"

namespace stowage::plugin {
namespace {

using recompute::Planned;
using recompute::Runtime;

int type_of(DevicePlace device) {
  return static_cast<int>(device.kind == DeviceKind::kCuda ? c10::kCUDA : c10::kCPU);
}
int index_of(DevicePlace device) { return static_cast<int>(device.index); }

RescueCounts counts() {
  const recompute::Counters from = Runtime::counters();
  RescueCounts counts;
  counts.ops = from.ops;
  counts.evictions = from.evictions;
  counts.restores = from.restores;
  counts.replays = from.replays;
  counts.ops_ns = from.ops_ns;
  counts.replay_ns = from.replay_ns;
  counts.search_ns = from.search_ns;
  counts.rooms = from.rooms;
  counts.evicted = from.evicted;
  counts.evicted_total = from.evicted_total;
  return counts;
}

constexpr RescueDriver kRuntime{[] { return Runtime::install({}); },
                                &Runtime::uninstall,
                                &Runtime::end_iteration,
                                [](Bytes bytes, DevicePlace device) {
                                  return Runtime::make_room(bytes, type_of(device), index_of(device));
                                },
                                [](Bytes bytes, DevicePlace device, const FreeSpace& space) {
                                  return Runtime::make_contiguous_room(bytes, type_of(device), space);
                                },
                                [](const Shortage& shortage, DevicePlace device) {
                                  return Runtime::explain_shortage(shortage, type_of(device),
                                                                   index_of(device));
                                },
                                &counts,
                                &Planned::note_memory,
                                &Planned::record_next,
                                &Planned::take_log,
                                [](const Schedule& schedule) { return Planned::follow(schedule); },
                                &Planned::leave,
                                [] {
                                  const recompute::DriverCounts from = Planned::counts();
                                  return FollowCounts{from.iterations, from.left, from.evictions};
                                },
                                &recompute::bytes_away,
                                &recompute::threads_in_iterations};

}  // namespace

void prepare_rescue() { set_rescue_driver(&kRuntime); }

}  // namespace stowage::plugin
