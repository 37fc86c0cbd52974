// Reads and writes a Trace as a file (`.stowtrace`) or as bytes. The layout is specified in container.h and
// trace.fbs.
//
// For any bytes the answer is a Trace that passes validate(), or an error with a name; never a
// crash, never more memory than some small multiple of the file. Thread safety: functions without state. No
// exception leaves.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/trace.h"

namespace stowage {

/// The file's bytes; the same trace always makes the same bytes. Errors: those of Trace::validate(),
/// kInvalidArgument (more than 1 GiB of content), kOutOfMemory.
Result<std::vector<std::byte>> encode_trace(const Trace& trace);

/// The opposite. Errors: kForeignFile, kUnknownVersion, kDamagedFile, kOutOfMemory.
Result<Trace> decode_trace(std::span<const std::byte> file);

/// Writes the file atomically: `path` holds the whole new file afterwards or, on error, exactly what it held
/// before. Errors: those of encode_trace, kIo. Messages begin with the path.
Status save_trace(const Trace& trace, const std::filesystem::path& path);

/// Reads the file. Errors: those of decode_trace, kNotFound, kIo. Messages begin with the path.
Result<Trace> load_trace(const std::filesystem::path& path);

}  // namespace stowage
