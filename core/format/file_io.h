// Whole files of ours: written atomically, read without trusting their size.
//
// Thread safety: functions without state. Two writers of one path, in any processes, leave the file of one of
// them, whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/container.h"

namespace stowage::format {

/// Writes `bytes` to `path`: a temporary file beside it, flushed to the disk, then renamed over it. An
/// existing file stays as it was unless all of this succeeds. Error: kIo (also if `path` is a folder or
/// device).
Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// The bytes of a container of `kind`, read only after its header was found sound; they still need unpack().
/// Errors: kNotFound, kIo, and those of check_header.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, Kind kind);

/// The same for the file `name` of an open folder, readable by its owner alone; a symbolic link is replaced,
/// not followed.
Status write_file_in(int folder, const std::string& name, std::span<const std::byte> bytes);
/// The same for the file `name` of an open folder. Error: also kIo for a symbolic link.
Result<std::vector<std::byte>> read_file_in(int folder, const std::string& name, Kind kind);

/// True for the name of a file that was not completed, of these functions.
bool is_partial_name(std::string_view name);

}  // namespace stowage::format
