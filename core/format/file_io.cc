#include "core/format/file_io.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

namespace stowage::format {
namespace {

namespace fs = std::filesystem;

/// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  /// False if the system reports a late write error.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

/// Removes a temporary file unless it was kept.
class Temporary {
 public:
  Temporary(int folder, fs::path path) : folder_(folder), path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlinkat(folder_, path_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void keep() { path_.clear(); }

 private:
  int folder_;
  fs::path path_;
};

Error cannot_read(int number) {
  const std::string reason = std::generic_category().message(number);
  if (number == ENOENT) return Error{ErrorCode::kNotFound, "there is no such file; check the path"};
  return Error{ErrorCode::kIo, "cannot be read: " + reason + "; check its permissions and the disk"};
}

Error cannot_write(int number) {
  const std::string reason = std::generic_category().message(number);
  return Error{ErrorCode::kIo,
               "cannot be written: " + reason + "; check the folder, its permissions and the disk"};
}

Error not_regular() { return Error{ErrorCode::kIo, "it is not a regular file; give the path of a file"}; }

constexpr std::string_view kPartialPrefix = ".stowage-";
constexpr std::string_view kPartialSuffix = ".partial";

/// A name beside `path` that no other writer uses, in this process, in others or on other machines. It does
/// not grow with the file's name.
fs::path temporary_path(const fs::path& path) {
  static std::atomic<unsigned> serial{0};
  std::uint64_t random = 0;  // where the system has none, process and serial have to do
  [[maybe_unused]] const ssize_t got = ::getrandom(&random, sizeof random, GRND_NONBLOCK);
  const std::string name = std::string(kPartialPrefix) + std::to_string(::getpid()) + "-" +
                           std::to_string(serial++) + "-" + std::to_string(random) +
                           std::string(kPartialSuffix);
  return path.parent_path() / name;
}

/// 0, or the errno of the write that failed.
int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Reads up to `bytes.size()`; how much there was, or -1 with errno set.
ssize_t read_all(int fd, std::span<std::byte> bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(have);
}

/// Makes the rename durable. A file system that cannot do it is no reason to fail: the file itself is whole.
void flush_folder(int folder, const fs::path& path) {
  const fs::path inner = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor descriptor(::openat(folder, inner.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.ok()) ::fsync(descriptor.get());
}

/// `path` is relative to `folder`, which may be AT_FDCWD.
Status write_at(int folder, const fs::path& path, mode_t mode, std::span<const std::byte> bytes) {
  const fs::path partial = temporary_path(path);
  Descriptor descriptor(
      ::openat(folder, partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!descriptor.ok()) return cannot_write(errno);
  Temporary temporary(folder, partial);
  if (const int number = write_all(descriptor.get(), bytes); number != 0) return cannot_write(number);
  if (::fsync(descriptor.get()) != 0) return cannot_write(errno);
  if (!descriptor.close()) return cannot_write(errno);
  if (::renameat(folder, partial.c_str(), folder, path.c_str()) != 0) return cannot_write(errno);
  temporary.keep();
  flush_folder(folder, path);
  return {};
}

/// Opens `path`, relative to `folder`, with `flags` beside the usual ones.
Result<std::vector<std::byte>> read_at(int folder, const char* path, int flags, Kind kind) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const Descriptor descriptor(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!descriptor.ok()) return cannot_read(errno);
  struct stat info = {};
  if (::fstat(descriptor.get(), &info) != 0) return cannot_read(errno);
  if (!S_ISREG(info.st_mode)) return not_regular();
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  std::vector<std::byte> bytes(std::min<std::uint64_t>(file_bytes, kHeaderBytes));
  ssize_t got = read_all(descriptor.get(), bytes);
  if (got < 0) return cannot_read(errno);
  bytes.resize(static_cast<std::size_t>(got));
  if (Status status = check_header(bytes, file_bytes, kind); !status) return status.error();
  bytes.resize(file_bytes);
  got = read_all(descriptor.get(), std::span(bytes).subspan(kHeaderBytes));
  if (got < 0) return cannot_read(errno);
  bytes.resize(kHeaderBytes +
               static_cast<std::size_t>(got));  // shorter if it was cut meanwhile: unpack will say so
  return bytes;
}

}  // namespace

Status write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::error_code ignored;
  const fs::file_status present = fs::status(path, ignored);
  if (fs::exists(present) && !fs::is_regular_file(present)) return not_regular();
  return write_at(AT_FDCWD, path, 0644, bytes);
}

Result<std::vector<std::byte>> read_file(const fs::path& path, Kind kind) {
  return read_at(AT_FDCWD, path.c_str(), 0, kind);
}

Status write_file_in(int folder, const std::string& name, std::span<const std::byte> bytes) {
  return write_at(folder, name, 0600, bytes);
}

Result<std::vector<std::byte>> read_file_in(int folder, const std::string& name, Kind kind) {
  return read_at(folder, name.c_str(), O_NOFOLLOW, kind);
}

bool is_partial_name(std::string_view name) {
  return name.starts_with(kPartialPrefix) && name.ends_with(kPartialSuffix);
}

}  // namespace stowage::format
