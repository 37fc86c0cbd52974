// Offloads CPU tensors to a spill file.
//
// A digest of what was put is compared with what comes back. After a fork both processes may read what was
// stored before, so neither writes to that file any more; what comes later goes to a new one. All files are
// written and read in one thread, in the order in which copies were begun.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "recompute/stores/copy_thread.h"
#include "recompute/stores/file_calls.h"
#include "recompute/stores/spill_file.h"
#include "recompute/stores/store.h"

namespace stowage::recompute {

class SpillStore final : public Store {
 public:
  /// Makes a file in `folder` and measures how fast it is written and read. Error: kIo where that fails.
  static Result<std::unique_ptr<SpillStore>> open(const std::string& folder, const FileCalls& calls = {});

  [[nodiscard]] std::uint64_t copy_ns(std::uint64_t bytes) const override;
  [[nodiscard]] std::uint64_t held() const override { return *held_; }
  Result<std::unique_ptr<StoredCopy>> begin_put(const void* from, std::uint64_t bytes) override;
  [[nodiscard]] CopyLanes lanes() const override { return CopyLanes::kShared; }  // one thread, one disk
  void before_fork() override { thread_->finish_all(); }
  void after_fork(bool in_child) override;
  /// Its folder lies in memory.
  [[nodiscard]] bool is_in_memory() const { return file_ != nullptr && file_->is_in_memory(); }

 private:
  SpillStore(std::string folder, const FileCalls& calls) : folder_(std::move(folder)), calls_(calls) {}
  Status begin_file();
  Status measure();

  std::string folder_;
  FileCalls calls_;
  std::shared_ptr<CopyThread> thread_ = std::make_shared<CopyThread>();  ///< alone uses files
  std::shared_ptr<SpillFile> file_;  ///< the present one; copies keep earlier ones
  std::shared_ptr<std::uint64_t> held_ = std::make_shared<std::uint64_t>(0);
  double ns_per_byte_ = 0;  ///< of one copy, the mean of there and back
};

}  // namespace stowage::recompute
