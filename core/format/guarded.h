// What the kinds of file share around their contents. Used by the format's own .cc files only.
#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <span>
#include <vector>

#include "core/format/columns.h"
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

/// Checks `object` and packs what `write` makes of it in a FlatBuffer. `bound`: what the content takes at
/// most.
template <class T, class Write>
Result<std::vector<std::byte>> encode(const T& object, Kind kind, std::uint64_t (*bound)(const T&),
                                      Write write) {
  constexpr std::size_t kToBeginWith = 16 * 1024;
  return guarded([&]() -> Result<std::vector<std::byte>> {
    if (Status status = object.validate(); !status) return status.error();
    if (bound(object) > kMaxContentBytes) return too_large();
    flatbuffers::FlatBufferBuilder builder(kToBeginWith);
    write(builder, object);
    return pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), kind);
  });
}

/// Makes an object of a file that nobody vouches for: container, schema, columns and the object itself are
/// checked in this order. `verify` is the schema's; `read` makes the object of the content.
template <class T, class Read>
Result<T> decode(std::span<const std::byte> file, Kind kind, bool (*verify)(flatbuffers::Verifier&),
                 Read read, flatbuffers::uoffset_t max_tables = kMostTables) {
  return guarded([&]() -> Result<T> {
    auto content = unpack(file, kind);
    if (!content) return content.error();
    auto verifier = make_verifier(*content, max_tables);
    if (!verify(verifier)) return damaged("its content breaks its schema");
    ColumnReader reader(content->size);
    T object = read(content->bytes.get(), reader);
    if (reader.damaged()) return damaged("its columns do not agree");
    if (Status status = object.validate(); !status) return damaged(status.error().message.c_str());
    return object;
  });
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
