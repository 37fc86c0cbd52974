#include "plugin/cuda/host/pinned_store.h"

#include <c10/cuda/CUDAFunctions.h>
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
constexpr std::uint64_t kLargest = 32u << 20;  // piece

cudaStream_t present_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

Error failed(const char* what, cudaError_t why) {
  return {ErrorCode::kIo,
          std::string("the copy ") + what + " pinned host memory failed: " + cudaGetErrorString(why)};
}

class Pinned final : public recompute::StoredCopy {
 public:
  /// `pieces` were taken for `streams.there`.
  Pinned(std::shared_ptr<PinnedMemory> memory, Pieces pieces, std::uint64_t bytes, CopyStreams streams,
         std::shared_ptr<std::uint64_t> held)
      : memory_(std::move(memory)),
        pieces_(std::move(pieces)),
        bytes_(bytes),
        streams_(streams),
        held_(std::move(held)) {
    *held_ += bytes_;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() override {
    if (done_ != nullptr) {  // the pieces are used again in the order of the stream there
      if (is_read_) static_cast<void>(cudaStreamWaitEvent(streams_.there, done_, 0));
      static_cast<void>(cudaEventDestroy(done_));
    }
    *held_ -= bytes_;
    for (const PinnedMemory::Piece& piece : pieces_) memory_->give_back(piece);
  }

  Status begin_write(const void* from) {
    const auto* next = static_cast<const std::byte*>(from);
    return begin("to", streams_.there, [&](std::byte* piece, std::uint64_t bytes) {
      const auto* const present = std::exchange(next, next + bytes);
      return cudaMemcpyAsync(piece, present, bytes, cudaMemcpyDeviceToHost, streams_.there);
    });
  }
  Status begin_read(void* to) override {
    auto* next = static_cast<std::byte*>(to);
    const cudaError_t whole = cudaStreamWaitEvent(streams_.back, done_, 0);
    if (whole != cudaSuccess) return failed("from", whole);
    is_read_ = true;
    return begin("from", streams_.back, [&](const std::byte* piece, std::uint64_t bytes) {
      auto* const present = std::exchange(next, next + bytes);
      return cudaMemcpyAsync(present, piece, bytes, cudaMemcpyHostToDevice, streams_.back);
    });
  }
  Status finish() override {
    if (!std::exchange(under_way_, false)) return {};
    const cudaError_t waits = cudaStreamWaitEvent(present_stream(), done_, 0);
    return waits == cudaSuccess ? Status{} : failed("with", waits);
  }

  [[nodiscard]] bool matches(const void* /*from*/) const override { return true; }

 private:
  // Behind what the present stream has queued.
  template <class Queue>
  Status begin(const char* what, cudaStream_t stream, Queue queue) {
    if (!put_in_order(present_stream(), stream)) return failed(what, cudaGetLastError());
    for (const PinnedMemory::Piece& piece : pieces_) {
      const cudaError_t queued = queue(memory_->address_of(piece), piece.extent.bytes);
      if (queued != cudaSuccess) return failed(what, queued);
    }
    cudaError_t noted = cudaSuccess;
    if (done_ == nullptr) noted = cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
    if (noted == cudaSuccess) noted = cudaEventRecord(done_, stream);
    if (noted != cudaSuccess) return failed(what, noted);
    under_way_ = true;
    return {};
  }

  std::shared_ptr<PinnedMemory> memory_;
  Pieces pieces_;
  std::uint64_t bytes_;
  CopyStreams streams_;
  std::shared_ptr<std::uint64_t> held_;
  cudaEvent_t done_ = nullptr;  ///< the latest copy is
  bool under_way_ = false;
  bool is_read_ = false;  ///< it was, or is being, copied back
};

std::uint64_t processes_here() {
  const char* const text = std::getenv("LOCAL_WORLD_SIZE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

}  // namespace

std::optional<CopyStreams> PinnedStore::copy_streams() {
  const auto device = static_cast<std::size_t>(c10::cuda::current_device());
  if (streams_.size() <= device) streams_.resize(device + 1);
  for (cudaStream_t* const stream : {&streams_[device].there, &streams_[device].back}) {
    if (*stream != nullptr || cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking) == cudaSuccess)
      continue;
    static_cast<void>(cudaGetLastError());  // it is ours, not the job's
    *stream = nullptr;
    return std::nullopt;
  }
  return streams_[device];
}

Result<std::unique_ptr<recompute::StoredCopy>> PinnedStore::begin_put(const void* from, std::uint64_t bytes) {
  const std::optional<CopyStreams> streams = copy_streams();
  if (!streams) return Error{ErrorCode::kIo, "CUDA has no stream for copies to host memory"};
  Pieces pieces;
  for (std::uint64_t done = 0; done < bytes; done += kLargest) {
    const auto piece = memory_->take(std::min(kLargest, bytes - done), streams->there);
    if (piece) {
      pieces.push_back(*piece);
      continue;
    }
    for (const PinnedMemory::Piece& taken : pieces) memory_->give_back(taken);
    return Error{ErrorCode::kOutOfMemory, "no more host memory may be pinned than " +
                                              std::to_string(memory_->pinned()) +
                                              " bytes; STOWAGE_HOST_MEMORY sets the limit"};
  }
  auto copy = std::make_unique<Pinned>(memory_, std::move(pieces), bytes, *streams, held_);
  if (Status begun = copy->begin_write(from); !begun) return begun.error();
  return std::unique_ptr<recompute::StoredCopy>(std::move(copy));
}

// Pieces do not fill blocks to the last byte.
std::uint64_t PinnedStore::capacity() const {
  const std::uint64_t blocks = memory_->limit() / PinnedMemory::kBlock * PinnedMemory::kBlock;
  return blocks - blocks / 8;
}

std::uint64_t PinnedStore::copy_ns(std::uint64_t bytes) const { return kCallsNs + bytes / kBytesPerNs; }

Bytes free_host_share() { return Bytes(free_host_memory().value() / 2 / processes_here()); }

}  // namespace stowage::plugin
