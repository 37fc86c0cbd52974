#include "plugin/cuda/device/device_clock.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <kineto/libkineto.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "session/settings/notice.h"
#include "tracer/clocks/cupti_clock.h"
#include "tracer/clocks/event_clock.h"
#include "tracer/cupti/records/library.h"
#include "tracer/cupti/source.h"

namespace stowage::plugin {
namespace {

using session::Cupti;
using tracer::cupti::Library;
using tracer::cupti::Source;
using tracer::cupti::SourceOptions;

bool wants_cupti(const session::Settings& settings, bool decides) {
  if (settings.cupti != Cupti::kAuto) return settings.cupti == Cupti::kOn;
  return decides || !settings.trace.empty();
}

// PyTorch's profiler, which records through CUPTI, too: it was used in this process, and it is at work. It
// is at work from its warm-up on, before torch says so.
bool profiler_was_used() { return libkineto::api().isProfilerInitialized(); }
bool profiler_is_at_work() { return profiler_was_used() && libkineto::api().activityProfiler().isActive(); }

SourceOptions options_for(OpenPools& pools) {
  SourceOptions options;
  options.others_record = &profiler_is_at_work;
  options.may_detach = [&pools] { return !profiler_was_used() && !pools.has_captured(); };
  return options;
}

// Nsight, and other tools that the driver loads into each process, use CUPTI for themselves.
Status check_tools() {
  const char* const tool = std::getenv("CUDA_INJECTION64_PATH");
  if (tool == nullptr || *tool == '\0') return {};
  return Error{ErrorCode::kUnsupported, "a profiling tool is attached (CUDA_INJECTION64_PATH)"};
}

Result<std::shared_ptr<Source>> join_source(OpenPools& pools) {
  if (Status free = check_tools(); !free) return free.error();
  Result<Library> library = Library::find();
  if (!library) return library.error();
  return Source::join(*library, options_for(pools));
}

void warn_once(const std::string& why) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true))
    session::warn("CUPTI does not record here: " + why + "; op times come from CUDA events");
}

}  // namespace

void leave_cupti() noexcept { Source::leave_present(); }

std::shared_ptr<tracer::OpClock> make_device_clock(c10::DeviceIndex index, OpenPools& pools,
                                                   const session::Settings& settings, bool decides) {
  auto events = std::make_shared<tracer::EventClock>(c10::Device(c10::kCUDA, index),
                                                     c10::impl::getDeviceGuardImpl(c10::kCUDA));
  if (!wants_cupti(settings, decides)) return events;
  Result<std::shared_ptr<Source>> source = join_source(pools);
  if (source)
    return std::make_shared<tracer::CuptiClock>(std::move(*source), std::move(events),
                                                static_cast<std::uint32_t>(index));
  warn_once(source.error().message);
  return events;
}

}  // namespace stowage::plugin
