#include "plugin/torch/rescue_recording.h"

#include <exception>
#include <string>

#include "session/registry.h"
#include "session/session.h"
#include "session/settings/notice.h"
#include "tracer/recorder/recorder.h"

namespace stowage::plugin {
namespace {

// A recording that lacks an event is one of an iteration that does not come again: nothing worse.
template <class Tell>
void tell_all(Tell tell) noexcept try {
  for (session::Session* const session : session::all_sessions()) tell(*session);
} catch (const std::exception& error) {
  session::note(1, std::string("what rescue did is in the recording: ") + error.what());
}

}  // namespace

void RescueRecording::leaves(const void* address, std::uint64_t id) noexcept {
  tell_all([=](session::Session& session) { session.on_set_aside(address, id); });
}

void RescueRecording::begin_return() noexcept { ++tracer::Unrecorded::depth(); }
void RescueRecording::end_return() noexcept { --tracer::Unrecorded::depth(); }

void RescueRecording::is_back(const void* address, std::uint64_t id) noexcept {
  tell_all([=](session::Session& session) { session.on_brought_back(address, id); });
}

void RescueRecording::is_gone(std::uint64_t id) noexcept {
  tell_all([=](session::Session& session) { session.on_aside_gone(id); });
}

}  // namespace stowage::plugin
