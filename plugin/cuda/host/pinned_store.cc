#include "plugin/cuda/host/pinned_store.h"

#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/support/host_memory.h"

namespace stowage::plugin {
namespace {

using Pieces = std::vector<PinnedMemory::Piece>;

constexpr std::uint64_t kCallsNs = 10'000;     // what a copy costs beside its bytes
constexpr std::uint64_t kBytesPerNs = 24;      // over PCI Express 4
constexpr std::uint64_t kLargest = 32u << 20;  // piece: a smaller copy on another stream waits no longer

cudaStream_t present_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

class Pinned final : public recompute::StoredCopy {
 public:
  Pinned(std::shared_ptr<PinnedMemory> memory, Pieces pieces, std::uint64_t bytes, cudaStream_t stream,
         std::shared_ptr<std::uint64_t> held)
      : memory_(std::move(memory)),
        pieces_(std::move(pieces)),
        bytes_(bytes),
        stream_(stream),
        held_(std::move(held)) {
    *held_ += bytes_;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() override {
    *held_ -= bytes_;
    for (const PinnedMemory::Piece& piece : pieces_) memory_->give_back(piece);
  }

  Status read(void* to) override {
    const cudaStream_t stream = present_stream();
    if (!put_in_order(stream_, stream)) return failed(cudaGetLastError());
    auto* next = static_cast<std::byte*>(to);
    for (const PinnedMemory::Piece& piece : pieces_) {
      const cudaError_t queued = cudaMemcpyAsync(next, memory_->address_of(piece), piece.extent.bytes,
                                                 cudaMemcpyHostToDevice, stream);
      if (queued != cudaSuccess) return failed(queued);
      next += piece.extent.bytes;
    }
    if (!put_in_order(stream, stream_)) return failed(cudaGetLastError());
    return {};
  }

  [[nodiscard]] bool matches(const void* /*from*/) const override { return true; }

 private:
  static Error failed(cudaError_t why) {
    return {ErrorCode::kIo,
            std::string("the copy from pinned host memory failed: ") + cudaGetErrorString(why)};
  }

  std::shared_ptr<PinnedMemory> memory_;
  Pieces pieces_;
  std::uint64_t bytes_;
  cudaStream_t stream_;
  std::shared_ptr<std::uint64_t> held_;
};

std::uint64_t processes_here() {
  const char* const text = std::getenv("LOCAL_WORLD_SIZE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

}  // namespace

Result<std::unique_ptr<recompute::StoredCopy>> PinnedStore::put(const void* from, std::uint64_t bytes) {
  const cudaStream_t stream = present_stream();
  Pieces pieces;
  for (std::uint64_t done = 0; done < bytes; done += kLargest) {
    const auto piece = memory_->take(std::min(kLargest, bytes - done), stream);
    if (piece) {
      pieces.push_back(*piece);
      continue;
    }
    for (const PinnedMemory::Piece& taken : pieces) memory_->give_back(taken);
    return Error{ErrorCode::kOutOfMemory, "no more host memory may be pinned than " +
                                              std::to_string(memory_->pinned()) +
                                              " bytes; STOWAGE_HOST_MEMORY sets the limit"};
  }
  auto copy = std::make_unique<Pinned>(memory_, pieces, bytes, stream, held_);
  const auto* next = static_cast<const std::byte*>(from);
  for (const PinnedMemory::Piece& piece : pieces) {
    const cudaError_t queued =
        cudaMemcpyAsync(memory_->address_of(piece), next, piece.extent.bytes, cudaMemcpyDeviceToHost, stream);
    if (queued != cudaSuccess)
      return Error{ErrorCode::kIo,
                   std::string("the copy to pinned host memory failed: ") + cudaGetErrorString(queued)};
    next += piece.extent.bytes;
  }
  return std::unique_ptr<recompute::StoredCopy>(std::move(copy));
}

std::uint64_t PinnedStore::copy_ns(std::uint64_t bytes) const { return kCallsNs + bytes / kBytesPerNs; }

Bytes free_host_share() { return Bytes(free_host_memory().value() / 2 / processes_here()); }

}  // namespace stowage::plugin
