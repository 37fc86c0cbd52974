// Reads and writes a Plan as a file (`.stowplan`) or as bytes. The layout is specified in container.h and
// plan.fbs.
//
// For any bytes the answer is a Plan that passes validate(), or an error with a name; never a
// crash, never more memory than some small multiple of the file. Thread safety: functions without state. No
// exception leaves.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/result.h"

namespace stowage {

/// The file's bytes; the same plan always makes the same bytes. Errors: those of Plan::validate(),
/// kInvalidArgument (more than 1 GiB of content), kOutOfMemory.
Result<std::vector<std::byte>> encode_plan(const Plan& plan);

/// The opposite. Errors: kForeignFile, kUnknownVersion, kDamagedFile, kOutOfMemory.
Result<Plan> decode_plan(std::span<const std::byte> file);

/// Writes the file atomically: `path` holds the whole new file afterwards or, on error, exactly what it held
/// before. Errors: those of encode_plan, kIo. Messages begin with the path.
Status save_plan(const Plan& plan, const std::filesystem::path& path);

/// Reads the file. Errors: those of decode_plan, kNotFound, kIo. Messages begin with the path.
Result<Plan> load_plan(const std::filesystem::path& path);

}  // namespace stowage
