#include "session/settings/notice.h"

#include <unistd.h>

#include <atomic>
#include <exception>

namespace stowage::session {
namespace {

std::atomic<std::uint64_t> verbosity{0};

void say(const std::string& text) noexcept {
  try {
    const std::string line = "stowage: " + text + "\n";
    // One write, so that lines of several processes do not mix; a closed stderr is not our concern.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::exception&) {  // no memory left for a message
  }
}

}  // namespace

void warn(const std::string& text) noexcept { say("warning: " + text); }
void note(std::uint64_t level, const std::string& text) noexcept {
  if (verbosity.load(std::memory_order_relaxed) >= level) say(text);
}
void set_verbosity(std::uint64_t level) noexcept { verbosity.store(level, std::memory_order_relaxed); }

}  // namespace stowage::session
