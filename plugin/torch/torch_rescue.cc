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

int type_of(Device device) {
  return static_cast<int>(device.kind == DeviceKind::kCuda ? c10::kCUDA : c10::kCPU);
}
int index_of(Device device) { return static_cast<int>(device.index); }

constexpr RescueDriver kRuntime{
    [] { return Runtime::install({}); },
    &Runtime::uninstall,
    &Runtime::end_iteration,
    [](Bytes bytes, Device device) { return Runtime::make_room(bytes, type_of(device), index_of(device)); },
    [](Bytes bytes, Device device, const FreeSpace& space) {
      return Runtime::make_contiguous_room(bytes, type_of(device), space);
    },
    [](const Shortage& shortage, Device device) {
      return Runtime::explain_shortage(shortage, type_of(device), index_of(device));
    },
    &Runtime::counters,
    &Planned::note_memory,
    &Planned::record_next,
    &Planned::take_log,
    [](const Schedule& schedule) { return Planned::follow(schedule); },
    &Planned::leave,
    &Planned::counts,
    &recompute::bytes_away,
    &recompute::threads_in_iterations};

}  // namespace

void prepare_rescue() { set_rescue_driver(&kRuntime); }

}  // namespace stowage::plugin
