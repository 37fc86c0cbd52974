// A folder of files of ours that belongs to one user: nobody else may put a file there or change one.
//
// All access is relative to the open folder, so that what is done to its path meanwhile does not matter, and
// no symbolic link in it is followed. Several processes may use one folder at a time: files are replaced in
// one step, and a file that is gone is no error. Thread safety: const members from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/format/container.h"
#include "core/result.h"

namespace stowage::format {

class PrivateFolder {
 public:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t used_ns = 0;  ///< when it was last written or touched, by CLOCK_REALTIME
  };

  /// Opens the folder at `path`. Errors: kNotFound; kIo: it cannot be opened, is a symbolic link, belongs to
  /// another user, or others may write to it.
  static Result<PrivateFolder> open(const std::filesystem::path& path);
  /// The same, but makes the folder and those above it where they are missing, for the user alone (0700).
  static Result<PrivateFolder> make(const std::filesystem::path& path);

  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  /// The regular files in it, in no order.
  [[nodiscard]] std::vector<File> files() const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Replaces or makes the file, for the user alone (0600). Error: kIo.
  [[nodiscard]] Status write(const std::string& name, std::span<const std::byte> bytes) const;
  /// As read_file_in().
  [[nodiscard]] Result<std::vector<std::byte>> read(const std::string& name, Kind kind) const;
  /// Reads the file and decodes it. Errors: of both.
  template <class T>
  [[nodiscard]] Result<T> read_as(const std::string& name, Kind kind,
                                  Result<T> (*decode)(std::span<const std::byte>)) const {
    const Result<std::vector<std::byte>> bytes = read(name, kind);
    if (!bytes.ok()) return bytes.error();
    return decode(*bytes);
  }
  /// Sets the time of last use to now.
  void touch(const std::string& name) const;
  /// True if the file was there, and is not any more.
  [[nodiscard]] bool remove(const std::string& name) const;
  /// Removes what writers left that were ended before they were done. They are given an hour.
  void remove_stale() const;

 private:
  explicit PrivateFolder(int folder) : folder_(folder) {}

  int folder_;
};

}  // namespace stowage::format
