#include "plugin/finish.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>

#include "plugin/notice.h"
#include "plugin/registry.h"
#include "plugin/report.h"
#include "plugin/session.h"

namespace stowage::plugin {
namespace {

struct AtExit {
  std::mutex mutex;
  Settings settings;
  pid_t process = 0;  ///< 0: nothing to do
};

AtExit& at_exit() {
  static auto* instance = new AtExit;
  return *instance;
}

void write_report(const std::string& where) {
  if (where.empty()) return;
  const std::string json = process_report_json();
  if (where == "text" || where == "1") {
    const std::string text = report_text(json);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  std::ofstream file(where, std::ios::trunc);
  file << json << '\n';
  file.close();
  if (!file) warn("the report could not be written to " + where);
}

// One session writes to the path itself, further ones to <path>.1, <path>.2, …
void write_traces(const std::string& path) {
  if (path.empty()) return;
  std::size_t number = 0;
  for (const Session* session : all_sessions()) {
    const std::string name = number == 0 ? path : path + "." + std::to_string(number);
    ++number;
    if (Status saved = session->save_trace(name); !saved)
      warn("no trace was written: " + saved.error().message);
  }
}

}  // namespace

void finish_at_exit(const Settings& settings) {
  AtExit& ours = at_exit();
  const std::lock_guard lock(ours.mutex);
  ours.settings = settings;
  ours.process = getpid();
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { finish(); }); });
}

void finish() noexcept try {
  Settings settings;
  {
    AtExit& ours = at_exit();
    if (ours.process != getpid()) return;
    const std::lock_guard lock(ours.mutex);
    settings = ours.settings;
    ours.process = 0;
  }
  write_report(settings.report);
  write_traces(settings.trace);
  for (Session* session : all_sessions()) session->stop_and_wait();
} catch (const std::exception& error) {
  warn(std::string("at exit: ") + error.what());
}

}  // namespace stowage::plugin
