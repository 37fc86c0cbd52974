// Reads and writes a KeptSchedule as bytes. The layout is specified in container.h and kept_schedule.fbs.
//
// For any bytes the answer is a KeptSchedule that passes validate(), or an error with a name; never a crash,
// never more memory than some small multiple of the file. Thread safety: functions without state. No
// exception leaves.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/kept_schedule.h"
#include "core/result.h"

namespace stowage {

/// The file's bytes; the same schedule always makes the same bytes. Errors: those of
/// KeptSchedule::validate(), kInvalidArgument (more than 1 GiB of content), kOutOfMemory.
Result<std::vector<std::byte>> encode_kept_schedule(const KeptSchedule& kept);

/// The opposite. Errors: kForeignFile, kUnknownVersion, kDamagedFile, kOutOfMemory.
Result<KeptSchedule> decode_kept_schedule(std::span<const std::byte> file);

}  // namespace stowage
