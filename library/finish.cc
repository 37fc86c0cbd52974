#include "library/finish.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>

#include "library/report.h"
#include "plugin/torch/live_torch.h"
#include "session/registry.h"
#include "session/session.h"
#include "session/settings/notice.h"
#include "session/settings/process_name.h"

namespace stowage::plugin {
namespace {

struct AtExit {
  std::mutex mutex;
  session::Settings settings;
  pid_t process = 0;  ///< 0: nothing to do
  std::int64_t since_ns = 0;
  bool quiet = false;
};

AtExit& at_exit() {
  static auto* instance = new AtExit;
  return *instance;
}

/// Each line begins with the process's name, so that a reader can tell the ranks apart.
void print_report(const std::string& text) {
  const std::string name = session::process_name();
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (!name.empty()) lines += "[" + name + "] ";
    lines += text.substr(at, end - at);
    at = end;
  }
  // One write, so that the tables of several processes do not mix.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines.data(), lines.size());
}

void write_report(const std::string& where, const std::string& json, std::int64_t since_ns) {
  if (where.empty()) return;
  if (where == "text" || where == "1") {
    if (const Result<std::string> text = report_text(json); text.ok()) print_report(*text);
    return;
  }
  const session::OutputClaim claim(where, since_ns);
  std::ofstream file(claim.path(), std::ios::trunc);
  file << json << '\n';
  file.close();
  if (!file) session::warn("the report could not be written to " + claim.path());
}

// One device writes to the path itself, further ones to <path>.1, <path>.2, …
void write_traces(const std::string& path, std::int64_t since_ns) {
  if (path.empty()) return;
  std::size_t number = 0;
  for (const session::Session* session : session::present_sessions()) {
    const session::OutputClaim claim(number == 0 ? path : path + "." + std::to_string(number), since_ns);
    ++number;
    if (Status saved = session->save_trace(claim.path()); !saved)
      session::warn("no trace was written: " + saved.error().message);
  }
}

void write_all(const session::Settings& settings, std::int64_t since_ns) {
  const std::string json = process_report_json();
  if (tells_nothing(json))
    return session::note(1, "no more than a page of memory was used here: no report and no trace is written");
  write_report(settings.report, json, since_ns);
  write_traces(settings.trace, since_ns);
}

}  // namespace

void finish_at_exit(const session::Settings& settings) {
  AtExit& ours = at_exit();
  const std::lock_guard lock(ours.mutex);
  ours.settings = settings;
  ours.process = getpid();
  if (ours.since_ns == 0) ours.since_ns = session::now_ns();
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { finish(); }); });
}

void finish() noexcept try {
  session::Settings settings;
  std::int64_t since_ns = 0;
  bool quiet = false;
  {
    AtExit& ours = at_exit();
    if (ours.process != getpid()) return;
    const std::lock_guard lock(ours.mutex);
    settings = ours.settings;
    since_ns = ours.since_ns;
    quiet = ours.quiet;
    ours.process = 0;
  }
  if (!quiet) write_all(settings, since_ns);
  live_torch().at_process_end();
  for (session::Session* session : session::all_sessions()) session->stop_and_wait();
  live_torch().debugging().end();
} catch (const std::exception& error) {
  session::warn(std::string("at exit: ") + error.what());
}

void finish_quietly() noexcept {
  const std::lock_guard lock(at_exit().mutex);
  at_exit().quiet = true;
}

}  // namespace stowage::plugin
