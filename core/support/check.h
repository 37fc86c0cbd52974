// Three levels of assertion. STOWAGE_CHECK_LEVEL is 0 (checks only), 1 (debug) or 2 (whole-structure audits).
//
//   STOWAGE_CHECK   always on: a violated contract would corrupt a user's memory or files
//   STOWAGE_DCHECK  level >= 1: cheap checks of internal invariants
//   STOWAGE_AUDIT   level >= 2: checks that walk a whole structure
#pragma once

#ifndef STOWAGE_CHECK_LEVEL
#define STOWAGE_CHECK_LEVEL 0
#endif

namespace stowage {
/// Prints `file:line: condition: message` and aborts. Never returns, never allocates.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message) noexcept;
}  // namespace stowage

#define STOWAGE_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void(0) : ::stowage::check_failed(__FILE__, __LINE__, #condition, message))

#if STOWAGE_CHECK_LEVEL >= 1
#define STOWAGE_DCHECK(condition, message) STOWAGE_CHECK(condition, message)
#else
#define STOWAGE_DCHECK(condition, message) static_cast<void>(sizeof(bool(condition)))
#endif

#if STOWAGE_CHECK_LEVEL >= 2
#define STOWAGE_AUDIT(condition, message) STOWAGE_CHECK(condition, message)
#else
#define STOWAGE_AUDIT(condition, message) static_cast<void>(sizeof(bool(condition)))
#endif
