#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <string>
#include <utility>

#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "plugin/cuda/adaptor/out_of_memory.h"
#include "plugin/cuda/upstream/upstream_space.h"

namespace stowage::plugin {

std::string CudaAdaptor::arena_line(c10::DeviceIndex index) const {
  std::uint64_t mapped = 0;
  std::uint64_t live = 0;
  for (CudaDevice* device : devices_of(index)) {
    mapped += device->session.arena_bytes().value();
    live = static_cast<std::uint64_t>(device->joint.blocks().use().rounded_bytes[0].current);  // all share it
  }
  return "Of the device's memory Stowage holds " + c10::CachingAllocator::format_size(mapped) +
         " as the arena of its plan, of which " + c10::CachingAllocator::format_size(live) +
         " are in use now.";
}

c10::OutOfMemoryError CudaAdaptor::explained(const c10::OutOfMemoryError& error, CudaDevice& device,
                                             std::size_t bytes, bool limited) {
  std::string text = error.what_without_backtrace();
  if (c10::CachingAllocator::AcceleratorAllocatorConfig::use_expandable_segments())
    text = without_known_advice(std::move(text));
  if (const auto allowed = device.port.fraction().users_bytes())
    text = with_users_fraction(std::move(text), *allowed);
  c10::OutOfMemoryError told({__func__, __FILE__, __LINE__}, std::move(text));
  told.add_context(arena_line(device.index));
  if (limited) {
    const Bytes workspaces = upstream_workspaces(upstream_, device.index);
    told.add_context("stowage: " + device.session.explain_shortage(Bytes{bytes}, workspaces));
  } else if (const std::string why = device.session.explain_unseen_shortage(); !why.empty()) {
    told.add_context("stowage: " + why);
  }
  return told;
}

}  // namespace stowage::plugin
