#include "core/format/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "core/format/file_io.h"

namespace stowage::format {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecondNs + time.tv_nsec; }

Error refused(const fs::path& path, const std::string& why) {
  return Error{ErrorCode::kIo, path.string() + " is not used: " + why};
}

Error failed(const fs::path& path, int number) {
  return refused(path, std::generic_category().message(number) + "; check the path and its permissions");
}

/// Without a slash at its end: behind a link that would stand for what the link points to.
fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

/// 0, or the errno of what failed.
int make_folders(const fs::path& path) {
  constexpr mode_t kForTheUserAlone = 0700;
  if (::mkdir(path.c_str(), kForTheUserAlone) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return errno;
  if (const int number = make_folders(path.parent_path()); number != 0) return number;
  return ::mkdir(path.c_str(), kForTheUserAlone) == 0 || errno == EEXIST ? 0 : errno;
}

/// Why the open folder is not the user's own; empty if it is.
std::string objection(int folder) {
  struct stat info = {};
  if (::fstat(folder, &info) != 0) return std::generic_category().message(errno);
  if (info.st_uid != ::geteuid()) return "it belongs to another user; choose a folder of your own";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it; chmod go-w helps";
  return {};
}

}  // namespace

Result<PrivateFolder> PrivateFolder::open(const fs::path& path) {
  const fs::path plain = without_slash(path);
  struct stat info = {};
  if (::lstat(plain.c_str(), &info) == 0 && S_ISLNK(info.st_mode))
    return refused(plain, "it is a symbolic link; give the folder that it points to");
  const int folder = ::open(plain.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0 && errno == ENOENT) return Error{ErrorCode::kNotFound, plain.string() + " is not there"};
  if (folder < 0) return failed(plain, errno);
  PrivateFolder opened(folder);
  if (const std::string why = objection(folder); !why.empty()) return refused(plain, why);
  return opened;
}

Result<PrivateFolder> PrivateFolder::make(const fs::path& path) {
  const fs::path plain = without_slash(path);
  if (const int number = make_folders(plain); number != 0) return failed(plain, number);
  return open(plain);
}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) ::close(folder_);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  // A descriptor of its own: a copy of ours would share the place up to which it was read.
  const int again = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again), ::closedir);
  if (!entries) {
    ::close(again);
    return {};
  }
  std::vector<File> found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is one thread's
  while (const dirent* entry = ::readdir(entries.get())) {
    struct stat info = {};
    if (::fstatat(folder_, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
      continue;
    found.push_back({entry->d_name, static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim)});
  }
  return found;
}

bool PrivateFolder::has(const std::string& name) const {
  struct stat info = {};
  return ::fstatat(folder_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Status PrivateFolder::write(const std::string& name, std::span<const std::byte> bytes) const {
  return write_file_in(folder_, name, bytes);
}

Result<std::vector<std::byte>> PrivateFolder::read(const std::string& name, Kind kind) const {
  return read_file_in(folder_, name, kind);
}

void PrivateFolder::touch(const std::string& name) const {
  ::utimensat(folder_, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

bool PrivateFolder::remove(const std::string& name) const {
  return ::unlinkat(folder_, name.c_str(), 0) == 0;
}

void PrivateFolder::remove_stale() const {
  constexpr std::int64_t kHourNs = 3600 * kSecondNs;
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (const File& file : files()) {
    if (is_partial_name(file.name) && nanoseconds(now) - file.used_ns > kHourNs)
      static_cast<void>(remove(file.name));
  }
}

}  // namespace stowage::format
