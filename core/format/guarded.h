// What the kinds of file share around their contents. Used by the format's own .cc files only.
#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <span>
#include <vector>

#include "core/format/container.h"
#include "core/format/file_io.h"

namespace stowage::format {

/// Calls `work`, which returns a Result or Status, and turns a failed allocation into kOutOfMemory.
template <class Work>
auto guarded(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "not enough host memory; free some"};
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kInternal, failure.what()};
  }
}

/// `error` with the path in front of its message.
inline Error about(const std::filesystem::path& path, const Error& error) {
  return Error{error.code, path.string() + ": " + error.message};
}

/// Reads the file at `path` and decodes it.
template <class T>
Result<T> load(const std::filesystem::path& path, Kind kind,
               Result<T> (*decode)(std::span<const std::byte>)) {
  return guarded([&]() -> Result<T> {
    auto bytes = read_file(path, kind);
    if (!bytes) return about(path, bytes.error());
    Result<T> decoded = decode(*bytes);
    if (!decoded) return about(path, decoded.error());
    return decoded;
  });
}

/// Encodes `object` and writes it to `path`.
template <class T>
Status save(const T& object, const std::filesystem::path& path,
            Result<std::vector<std::byte>> (*encode)(const T&)) {
  return guarded([&]() -> Status {
    auto bytes = encode(object);
    if (!bytes) return about(path, bytes.error());
    Status written = write_file(path, *bytes);
    return written ? written : about(path, written.error());
  });
}

}  // namespace stowage::format
