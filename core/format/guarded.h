// What the two file kinds share around their contents. Used by the format's own .cc files only.
#pragma once

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

/// Reads the file at `path` and decodes it; errors of the decoder get the path in front.
template <class T>
Result<T> load(const std::filesystem::path& path, Kind kind,
               Result<T> (*decode)(std::span<const std::byte>)) {
  return guarded([&]() -> Result<T> {
    auto bytes = read_file(path, kind);
    if (!bytes) return Error{bytes.error().code, path.string() + ": " + bytes.error().message};
    Result<T> decoded = decode(*bytes);
    if (!decoded) return Error{decoded.error().code, path.string() + ": " + decoded.error().message};
    return decoded;
  });
}

}  // namespace stowage::format
