#include "core/result.h"

namespace stowage {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid-argument";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kForeignFile:
      return "foreign-file";
    case ErrorCode::kUnknownVersion:
      return "unknown-version";
    case ErrorCode::kDamagedFile:
      return "damaged-file";
    case ErrorCode::kOutOfMemory:
      return "out-of-memory";
    case ErrorCode::kUnplannable:
      return "unplannable";
    case ErrorCode::kInvalidPlan:
      return "invalid-plan";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace stowage
