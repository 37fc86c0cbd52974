#include "core/support/check.h"

#include <cstdio>
#include <cstdlib>

namespace stowage {

void check_failed(const char* file, int line, const char* condition, const char* message) noexcept {
  // A stack buffer and one write: the heap may be what is broken, and lines of several threads must not
  // mingle.
  char text[1024];
  std::snprintf(text, sizeof text, "%s:%d: %s: %s\n", file, line, condition, message);
  std::fputs(text, stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace stowage
