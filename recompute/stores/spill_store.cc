#include "recompute/stores/spill_store.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <utility>
#include <vector>

#include "recompute/stores/digest.h"

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kCallsNs = 50'000;        // what a copy costs beside its bytes
constexpr std::uint64_t kMeasured = 8u << 20;     // bytes
constexpr double kFastest = 0.05, kSlowest = 50;  // ns per byte: what a measurement may say

class Spilled final : public StoredCopy {
 public:
  Spilled(std::shared_ptr<SpillFile> file, std::shared_ptr<CopyThread> thread, const Extent& extent,
          std::shared_ptr<std::uint64_t> held)
      : file_(std::move(file)), thread_(std::move(thread)), extent_(extent), held_(std::move(held)) {
    *held_ += extent_.bytes;
  }
  Spilled(const Spilled&) = delete;
  Spilled& operator=(const Spilled&) = delete;
  ~Spilled() override {
    static_cast<void>(finish());
    *held_ -= extent_.bytes;
    file_->give_back(extent_);
  }

  void begin_write(const void* from) {
    under_way_ = thread_->begin([this, from] { return write(from); });
  }
  Status begin_read(void* to) override {
    under_way_ = thread_->begin([this, to] { return read_whole(to); });
    return {};
  }
  Status finish() override { return under_way_.valid() ? under_way_.get() : Status{}; }
  [[nodiscard]] bool matches(const void* from) const override {
    return digest_of(from, extent_.bytes) == digest_;
  }

 private:
  // In the copying thread; what these use is used nowhere else until finish().
  Status write(const void* from) {
    digest_ = digest_of(from, extent_.bytes);
    if (Status written = file_->write(extent_, from); !written) return written;
    if (digest_of(from, extent_.bytes) == digest_) return {};
    return Error{ErrorCode::kIo, "a tensor changed while it was copied to the spill file"};
  }
  Status read_whole(void* to) {
    if (Status read = file_->read(extent_, to); !read) return read;
    if (digest_of(to, extent_.bytes) == digest_) return {};
    return Error{ErrorCode::kIo, "the spill file gives back other bytes than were written to it"};
  }

  std::shared_ptr<SpillFile> file_;
  std::shared_ptr<CopyThread> thread_;
  Extent extent_;
  std::uint64_t digest_ = 0;
  std::shared_ptr<std::uint64_t> held_;
  std::future<Status> under_way_;
};

}  // namespace

Result<std::unique_ptr<SpillStore>> SpillStore::open(const std::string& folder, const FileCalls& calls) {
  std::unique_ptr<SpillStore> store(new SpillStore(folder, calls));
  if (Status begun = store->begin_file(); !begun) return begun.error();
  if (Status measured = store->measure(); !measured) return measured.error();
  return store;
}

Status SpillStore::begin_file() {
  Result<std::shared_ptr<SpillFile>> file = SpillFile::open(folder_, calls_);
  if (!file) return file.error();
  file_ = std::move(*file);
  return {};
}

Status SpillStore::measure() {
  std::vector<std::byte> bytes(kMeasured, std::byte{1});
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<StoredCopy>> copy = put(bytes.data(), bytes.size());
  if (!copy) return copy.error();
  if (Status read = (*copy)->read(bytes.data()); !read) return read;
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  ns_per_byte_ = std::clamp(took.count() / 2 / static_cast<double>(kMeasured), kFastest, kSlowest);
  return {};
}

Result<std::unique_ptr<StoredCopy>> SpillStore::begin_put(const void* from, std::uint64_t bytes) {
  if (file_ == nullptr) {
    if (Status begun = begin_file(); !begun) return begun.error();
  }
  const Result<Extent> extent = file_->reserve(bytes);
  if (!extent) return extent.error();
  auto copy = std::make_unique<Spilled>(file_, thread_, *extent, held_);
  copy->begin_write(from);
  return std::unique_ptr<StoredCopy>(std::move(copy));
}

std::uint64_t SpillStore::copy_ns(std::uint64_t bytes) const {
  return kCallsNs + static_cast<std::uint64_t>(ns_per_byte_ * static_cast<double>(bytes));
}

void SpillStore::after_fork(bool in_child) {
  if (in_child) thread_->after_fork_in_child();
  if (file_ == nullptr) return;
  file_->keep_all();
  file_.reset();
}

}  // namespace stowage::recompute
