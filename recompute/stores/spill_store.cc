#include "recompute/stores/spill_store.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
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
  Spilled(std::shared_ptr<SpillFile> file, const Extent& extent, std::uint64_t digest,
          std::shared_ptr<std::uint64_t> held)
      : file_(std::move(file)), extent_(extent), digest_(digest), held_(std::move(held)) {
    *held_ += extent_.bytes;
  }
  Spilled(const Spilled&) = delete;
  Spilled& operator=(const Spilled&) = delete;
  ~Spilled() override {
    *held_ -= extent_.bytes;
    file_->give_back(extent_);
  }
  Status read(void* to) override {
    if (Status read = file_->read(extent_, to); !read) return read;
    if (digest_of(to, extent_.bytes) == digest_) return {};
    return Error{ErrorCode::kIo, "the spill file gives back other bytes than were written to it"};
  }
  [[nodiscard]] bool matches(const void* from) const override {
    return digest_of(from, extent_.bytes) == digest_;
  }

 private:
  std::shared_ptr<SpillFile> file_;
  Extent extent_;
  std::uint64_t digest_;
  std::shared_ptr<std::uint64_t> held_;
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

Result<std::unique_ptr<StoredCopy>> SpillStore::put(const void* from, std::uint64_t bytes) {
  if (file_ == nullptr) {
    if (Status begun = begin_file(); !begun) return begun.error();
  }
  const Result<Extent> extent = file_->reserve(bytes);
  if (!extent) return extent.error();
  if (Status written = file_->write(*extent, from); !written) {
    file_->give_back(*extent);
    return written.error();
  }
  return std::unique_ptr<StoredCopy>(new Spilled(file_, *extent, digest_of(from, bytes), held_));
}

std::uint64_t SpillStore::copy_ns(std::uint64_t bytes) const {
  return kCallsNs + static_cast<std::uint64_t>(ns_per_byte_ * static_cast<double>(bytes));
}

void SpillStore::after_fork() {
  if (file_ == nullptr) return;
  file_->keep_all();
  file_.reset();
}

}  // namespace stowage::recompute
