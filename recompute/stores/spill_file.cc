#include "recompute/stores/spill_file.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/support/check.h"

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kGrain = 4096;        // what O_DIRECT wants offsets and lengths to be multiples of
constexpr std::uint64_t kPiece = 4u << 20;    // copied at a time
constexpr std::uint64_t kGrowth = 64u << 20;  // reserved at a time, at least

Error cannot_open(const std::string& folder, int reason) {
  return {ErrorCode::kIo, "no spill file can be made in " + folder + ": " + std::strerror(reason)};
}

// With a name for a moment, where the file system has no files without one.
int open_and_unlink(const std::string& folder, int flags) {
  std::string path = folder + "/stowage-spill-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), flags);
  if (descriptor >= 0) ::unlink(path.c_str());
  return descriptor;
}

int open_in(const std::string& folder, int more) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL | more, 0600);
  const bool lacks_nameless = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  return descriptor < 0 && lacks_nameless ? open_and_unlink(folder, O_CLOEXEC | more) : descriptor;
}

}  // namespace

Result<std::shared_ptr<SpillFile>> SpillFile::open(const std::string& folder, const FileCalls& calls) {
  int descriptor = open_in(folder, O_DIRECT);
  if (descriptor < 0) descriptor = open_in(folder, 0);
  if (descriptor < 0) return cannot_open(folder, errno);
  std::shared_ptr<SpillFile> file(new SpillFile(descriptor, folder, calls));
  if (!file->piece_) return cannot_open(folder, ENOMEM);
  return file;
}

SpillFile::SpillFile(int descriptor, std::string folder, const FileCalls& calls)
    : descriptor_(descriptor),
      folder_(std::move(folder)),
      calls_(calls),
      extents_(kGrain),
      piece_(static_cast<std::byte*>(std::aligned_alloc(kGrain, kPiece)), &std::free) {
  struct statfs system {};
  in_memory_ = ::fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

SpillFile::~SpillFile() { ::close(descriptor_); }

Error SpillFile::failed(const char* what, int reason) const {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return {full ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
          std::string(what) + " the spill file in " + folder_ + ": " + std::strerror(reason)};
}

Result<Extent> SpillFile::reserve(std::uint64_t bytes) {
  STOWAGE_CHECK(!kept_, "what another process may read is not written over");
  if (const std::optional<Extent> found = extents_.take(bytes)) return *found;
  const std::uint64_t end = extents_.end_for(bytes);
  const auto allocate = [&](std::uint64_t to) {
    const std::uint64_t from = extents_.end();
    return calls_.allocate(descriptor_, static_cast<off_t>(from), static_cast<off_t>(to - from));
  };
  std::uint64_t reserved = std::max(end, extents_.end() + kGrowth);
  int reason = allocate(reserved);
  if (reason != 0 && reserved > end) reason = allocate(reserved = end);
  if (reason != 0) {
    static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(extents_.end())));
    return failed("there is no room in", reason);
  }
  extents_.grow(reserved);
  return *extents_.take(bytes);
}

void SpillFile::give_back(const Extent& extent) {
  extents_.give_back(extent);
  if (extents_.used() == 0 && !kept_)
    static_cast<void>(::ftruncate(descriptor_, static_cast<off_t>(extents_.shrink())));
}

// One piece between the file and piece_. The system may move less than it was asked for.
Status SpillFile::move_piece(bool writes, std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t moved = writes ? calls_.write(descriptor_, piece_.get() + done, bytes - done, at)
                                 : calls_.read(descriptor_, piece_.get() + done, bytes - done, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return failed(writes ? "cannot write to" : "cannot read from", errno);
    if (moved == 0) return failed(writes ? "cannot write to" : "cannot read from", writes ? ENOSPC : EIO);
    done += static_cast<std::uint64_t>(moved);
  }
  return {};
}

template <class Move>
Status SpillFile::in_pieces(const Extent& extent, Move move) {
  for (std::uint64_t done = 0; done < extent.bytes; done += kPiece) {
    const std::uint64_t bytes = std::min(kPiece, extent.bytes - done);
    if (Status moved = move(done, bytes, extents_.whole(bytes)); !moved) return moved;
  }
  return {};
}

Status SpillFile::write(const Extent& extent, const void* from) {
  return in_pieces(extent, [&](std::uint64_t done, std::uint64_t bytes, std::uint64_t whole) {
    std::memcpy(piece_.get(), static_cast<const std::byte*>(from) + done, bytes);
    std::memset(piece_.get() + bytes, 0, whole - bytes);
    return move_piece(true, extent.offset + done, whole);
  });
}

Status SpillFile::read(const Extent& extent, void* to) {
  return in_pieces(extent, [&](std::uint64_t done, std::uint64_t bytes, std::uint64_t whole) {
    Status moved = move_piece(false, extent.offset + done, whole);
    if (moved) std::memcpy(static_cast<std::byte*>(to) + done, piece_.get(), bytes);
    return moved;
  });
}

}  // namespace stowage::recompute
