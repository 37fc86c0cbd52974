#include "library/control.h"

#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>
#include <torch/version.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "library/doors.h"
#include "library/finish.h"
#include "library/report.h"
#include "plugin/cpu/cpu_adaptor.h"
#include "plugin/torch/live_torch.h"
#include "plugin/torch/offloading.h"
#include "recompute/recompute.h"
#include "session/registry.h"
#include "session/session.h"
#include "session/settings/environment.h"
#include "session/settings/notice.h"
#include "session/settings/process_name.h"
#include "session/settings/settings.h"
#include "tracer/observers/backward_pass.h"

namespace stowage::plugin {
namespace {

using recompute::Runtime;

thread_local std::string last_error;
thread_local std::string answer;

std::mutex& control_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

int failed(const Error& error) {
  last_error = error.message;
  return 1;
}

int result_of(const Status& status) { return status.ok() ? 0 : failed(status.error()); }

// No exception crosses the C interface.
template <class Work>
int guarded(Work work) noexcept try {
  last_error.clear();
  return result_of(work());
} catch (const std::exception& error) {
  return failed({ErrorCode::kInternal, error.what()});
}

// As guarded, and tells apart where memory was lacking.
template <class Work>
int brought_back(Work work) noexcept try {
  last_error.clear();
  work();
  return 0;
} catch (const c10::OutOfMemoryError& error) {
  constexpr int kNoMemory = 2;
  last_error = error.what_without_backtrace();
  return kNoMemory;
} catch (const std::exception& error) {
  return failed({ErrorCode::kInternal, error.what()});
}

template <class Work>
const char* told(Work work) noexcept try {
  answer = work();
  return answer.c_str();
} catch (const std::exception& error) {
  failed({ErrorCode::kInternal, error.what()});
  return nullptr;
}

void warn_of_unknown_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& sentence : session::unknown_variables(session::process_environment()))
      session::warn(sentence);
  });
}

Status enable(const session::Settings& settings) {
  warn_of_unknown_variables();
  const std::lock_guard lock(control_mutex());
  session::set_verbosity(settings.verbose);
  offload_as(settings);
  live_torch().debugging().ask(settings);
  live_torch().debugging().begin();
  if (Status opened = open_doors(settings); !opened) return opened;
  finish_at_exit(settings);
  return {};
}

// The first of a kind needs no number, and may have one.
bool is_called(const Device& device, const std::string& name) {
  const std::string kind = to_string(device.kind);
  return name == to_string(device) || (device.index == 0 && (name == kind || name == kind + ":0"));
}

Status save_trace_of(const std::string& path, const std::string& device) {
  const std::vector<session::Session*> sessions = session::present_sessions();
  for (auto at = sessions.rbegin(); at != sessions.rend(); ++at) {
    if (device.empty() || is_called((*at)->info().device, device)) return (*at)->save_trace(path);
  }
  return Error{ErrorCode::kNotFound, "nothing was recorded" + (device.empty() ? "" : " on " + device) +
                                         "; enable Stowage and run some iterations first"};
}

// The preload shim and torch's entry point may both ask; one answer, and one warning, is enough.
void enable_once(const char* overrides) {
  static std::atomic<bool> asked{false};
  if (asked.exchange(true)) return;
  const int status = guarded([&]() -> Status {
    const Result<session::Settings> settings = session::read_settings(overrides);
    if (!settings.ok()) return settings.error();
    return settings->enable ? enable(*settings) : Status();
  });
  if (status != 0) session::warn(last_error + "; the job goes on without Stowage");
}

}  // namespace
}  // namespace stowage::plugin

using namespace stowage;          // the C functions below are all that follows
using namespace stowage::plugin;  // NOLINT(google-build-using-namespace)

int stowage_enable(const char* overrides) {
  return guarded([&]() -> Status {
    const Result<session::Settings> settings = session::read_settings(overrides == nullptr ? "" : overrides);
    return settings.ok() ? enable(*settings) : Status(settings.error());
  });
}

void stowage_autoload() { enable_once(""); }

void stowage_autoload_preloaded() {
  const char* chosen = std::getenv("STOWAGE");
  enable_once(chosen == nullptr || *chosen == '\0' ? "enable=1" : "");
}

int stowage_disable() {
  return guarded([]() -> Status {
    const std::lock_guard lock(control_mutex());
    close_doors();
    live_torch().debugging().end();
    return {};
  });
}

int stowage_step() {
  return guarded([]() -> Status {
    const auto mark = [] { live_torch().mark_all(MarkSource::kUser); };
    tracer::inside_backward() ? tracer::once_after_backward(mark) : mark();
    return {};
  });
}

const char* stowage_report() {
  return told([] { return process_report_json(); });
}

const char* stowage_report_text(const char* json) {
  last_error.clear();
  const char* text = told([&] {
    const Result<std::string> table =
        report_text(json == nullptr ? process_report_json() : std::string(json));
    if (!table.ok()) failed(table.error());
    return table.ok() ? *table : std::string();
  });
  return last_error.empty() ? text : nullptr;
}

int stowage_save_trace(const char* path, const char* device) {
  return guarded([&] { return save_trace_of(path == nullptr ? "" : path, device == nullptr ? "" : device); });
}

const char* stowage_settings(const char* overrides) {
  const Result<session::Settings> settings = session::read_settings(overrides == nullptr ? "" : overrides);
  if (settings.ok()) return told([&] { return session::settings_json(*settings); });
  failed(settings.error());
  return nullptr;
}

int stowage_finish_later() {
  return guarded([]() -> Status {
    const Result<session::Settings> settings = session::read_settings();
    if (!settings.ok()) return settings.error();
    finish_at_exit(*settings);
    return {};
  });
}

int stowage_guard_with(int (*place)(int)) {
  return guarded([&]() -> Status {
    live_torch().set_guard_placer(place);
    live_torch().debugging().begin();
    for (session::Session* session : session::all_sessions()) session->guards_placed();
    return {};
  });
}

int stowage_pin(void* storage) {
  return brought_back([&] { Runtime::pin(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_expose(void* storage) {
  return brought_back([&] { Runtime::expose(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_lend(void* storage) {
  return brought_back([&] { Runtime::lend(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_take_back(void* storage) {
  return brought_back([&] { Runtime::take_back(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_hold(void* storage) {
  return brought_back([&] { Runtime::hold(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_let_go(void* storage) {
  return brought_back([&] { Runtime::let_go(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_tell_address(void* storage) {
  return brought_back([&] { Runtime::tell_address(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_begin_write(void* storage) {
  return brought_back([&] { Runtime::begin_write(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_end_write(void* storage) {
  return brought_back([&] { Runtime::end_write(static_cast<c10::StorageImpl*>(storage)); });
}

int stowage_count(void* storage) {
  return guarded([&]() -> Status {
    count_cpu(*static_cast<c10::StorageImpl*>(storage));
    live_torch().know(static_cast<c10::StorageImpl*>(storage));
    return {};
  });
}

void stowage_enter_opaque() { Runtime::enter_opaque(); }
void stowage_leave_opaque() { Runtime::leave_opaque(); }
void stowage_join() { Runtime::join(); }
void stowage_expect_joins(int all_join) { Runtime::expect_joins(all_join != 0); }

unsigned long long stowage_part_bytes(int device_type) { return Runtime::part_bytes(device_type).value(); }

void stowage_leave_cupti() { make_room_for_profiler(); }

unsigned long long stowage_forced_choices() { return Runtime::counters().choices; }

void stowage_finish() { finish(); }
void stowage_finish_as(const char* name) {
  if (name == nullptr) return finish_quietly();
  guarded([&]() -> Status {
    session::set_process_name(name);
    return {};
  });
}
const char* stowage_version() { return STOWAGE_VERSION; }
const char* stowage_torch_version() { return TORCH_VERSION; }
const char* stowage_last_error() { return last_error.c_str(); }
