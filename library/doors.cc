#include "library/doors.h"

#include <dlfcn.h>

#include "plugin/cpu/cpu_adaptor.h"
#if STOWAGE_HAS_CUDA_ADAPTOR
#include "plugin/cuda/cuda_install.h"
#include "plugin/cuda/device/device_clock.h"
#endif

namespace stowage::plugin {
namespace {

// Loads the driver's library if it can be found; that does not initialise CUDA.
bool cuda_driver_found() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

#if STOWAGE_HAS_CUDA_ADAPTOR
constexpr bool kCudaBuilt = true;
#else
constexpr bool kCudaBuilt = false;
Status install_cuda(const session::Settings&) {
  return Error{ErrorCode::kUnsupported,
               "this build of Stowage has no CUDA part; build it against a CUDA build of torch"};
}
void remove_cuda() {}
void leave_cupti() noexcept {}
#endif

}  // namespace

Status open_doors(const session::Settings& settings) {
  const bool automatic = settings.devices == session::Devices::kAuto;
  const bool cuda = settings.devices == session::Devices::kCuda ||
                    settings.devices == session::Devices::kBoth ||
                    (automatic && kCudaBuilt && cuda_driver_found());
  const bool cpu = settings.devices == session::Devices::kCpu ||
                   settings.devices == session::Devices::kBoth || (automatic && !cuda);
  if (cuda) {
    if (Status installed = install_cuda(settings); !installed) return installed;
  }
  if (!cpu) return {};
  Status installed = install_cpu(settings);
  if (!installed && cuda) remove_cuda();
  return installed;
}

void close_doors() {
  remove_cuda();
  remove_cpu();
}

void make_room_for_profiler() noexcept { leave_cupti(); }

}  // namespace stowage::plugin
