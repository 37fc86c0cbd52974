#include "simulator/device/memory/misuse.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace stowage::simulator {
namespace {

constexpr std::size_t kTextBytes = 512;
char last_text[kTextBytes] = "";
std::mutex last_lock;
std::atomic<std::int64_t> misuse_count{0};

}  // namespace

CUresult misuse(CUresult code, const char* format, ...) {
  char text[kTextBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "stowage simulator: %s\n", text);
  misuse_count += 1;
  const std::lock_guard<std::mutex> guard(last_lock);
  std::snprintf(last_text, sizeof last_text, "%s", text);
  return code;
}

std::int64_t misuses() { return misuse_count; }

void forget_misuses() { misuse_count = 0; }

const char* last_misuse() { return last_text; }

}  // namespace stowage::simulator
