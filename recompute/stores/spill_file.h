// A file without a name in a folder that the user chose, which spilled bytes are written to.
//
// The kernel removes it when the last process that has it open ends, however that ends. It is written and
// read past the page cache where the file system can (O_DIRECT): that is several times as fast on a disk, and
// spilled bytes take no memory. Space is reserved before it is written to, so a full disk is found before.
//
// Thread safety: none. Invariants: no byte of a reserved extent is another one's; mode 0600; not inherited by
// programs that the process starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "recompute/stores/extents.h"
#include "recompute/stores/file_calls.h"

namespace stowage::recompute {

class SpillFile {
 public:
  /// Error: kIo, with the folder and the system's reason, if no file can be made there.
  static Result<std::shared_ptr<SpillFile>> open(const std::string& folder, const FileCalls& calls = {});
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Error: kOutOfMemory if the disk is full, kIo. Requires: keep_all() was not called.
  Result<Extent> reserve(std::uint64_t bytes);
  void give_back(const Extent& extent);
  /// Error: kIo; the extent's content is unknown then.
  Status write(const Extent& extent, const void* from);
  Status read(const Extent& extent, void* to);

  /// Another process may read it from now on, too: what was written stays, also where it is given back.
  void keep_all() { kept_ = true; }
  [[nodiscard]] std::uint64_t used() const { return extents_.used(); }
  /// It lies in memory (tmpfs): spilling to it saves nothing.
  [[nodiscard]] bool is_in_memory() const { return in_memory_; }

 private:
  SpillFile(int descriptor, std::string folder, const FileCalls& calls);
  template <class Move>
  Status in_pieces(const Extent& extent, Move move);
  Status move_piece(bool writes, std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] Error failed(const char* what, int reason) const;

  int descriptor_;
  std::string folder_;
  FileCalls calls_;
  bool in_memory_ = false;
  bool kept_ = false;
  Extents extents_;
  std::unique_ptr<std::byte, void (*)(void*)> piece_;  ///< aligned as O_DIRECT needs it
};

}  // namespace stowage::recompute
