// Copies and fills. Small ones (kRealBytes) are real, so that `.item()`, random seeds and index lists work;
// larger ones cost only time, unless STOWAGE_SIM_REAL_COPIES=1. What the host gets of a larger one is zeros.
#include "simulator/device/copy.h"

#include <cstring>

#include "simulator/device/machine.h"
#include "simulator/device/memory/misuse.h"
#include "simulator/device/time/costs.h"

namespace stowage::simulator {
namespace {

constexpr std::uint64_t kRealBytes = 64 << 10;

bool is_real(std::uint64_t bytes) { return bytes <= kRealBytes || settings().real_copies; }

CUresult check_side(Machine& machine, const void* address, std::uint64_t bytes, const char* what) {
  const DeviceMemory* const memory = machine.memory_of(address_of(address));
  return memory == nullptr ? CUDA_SUCCESS : memory->check_range(address_of(address), bytes, what);
}

/// Moves what can be known: small copies of known bytes. The host gets zeros for everything else.
void move_contents(Machine& machine, void* to, const void* from, std::uint64_t bytes, bool to_device,
                   bool from_device) {
  const bool known =
      !from_device || settings().real_copies || machine.contents.knows(address_of(from), bytes);
  const bool moves = known && (is_real(bytes) || (!to_device && !from_device));
  if (moves) {
    std::memmove(to, from, bytes);
  } else if (!to_device) {
    std::memset(to, 0, bytes);
  }
  if (to_device && moves) machine.contents.remember(address_of(to), bytes);
  if (to_device && !moves) machine.contents.forget(address_of(to), bytes);
}

Work copy_work(const Machine& machine, const void* to, const void* from, std::uint64_t bytes) {
  const int target = machine.device_of(address_of(to));
  const int source = machine.device_of(address_of(from));
  Work work{.kind = WorkKind::kCopy, .name = "memcpy", .bytes = bytes};
  if (target >= 0 && source >= 0 && target != source) work.kind = WorkKind::kPeerCopy;
  work.copy_kind = target >= 0 ? (source >= 0 ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                               : (source >= 0 ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
  return work;
}

void write_pattern(void* to, std::uint32_t value, std::uint64_t bytes, int width) {
  if (width == 1) {
    std::memset(to, static_cast<int>(value), bytes);
    return;
  }
  for (std::uint64_t at = 0; at + static_cast<std::uint64_t>(width) <= bytes;
       at += static_cast<std::uint64_t>(width)) {
    std::memcpy(static_cast<char*>(to) + at, &value, static_cast<std::size_t>(width));
  }
}

}  // namespace

CUresult copy_on(const void* stream_handle, void* to, const void* from, std::uint64_t bytes, bool blocks) {
  Call call;
  Stream* const stream = stream_of(*call, stream_handle);
  if (stream == nullptr) return misuse(CUDA_ERROR_INVALID_HANDLE, "copy on a stream that does not live");
  if (const auto wrong = check_side(*call, to, bytes, "copy")) return wrong;
  if (const auto wrong = check_side(*call, from, bytes, "copy")) return wrong;
  const bool to_device = call->device_of(address_of(to)) >= 0;
  const bool from_device = call->device_of(address_of(from)) >= 0;
  // A copy into pageable host memory has to be over when the call returns; one from it was staged.
  const bool to_pageable = !to_device && !call->host_memory.contains(address_of(to));
  if (stream->capture != nullptr && (blocks || to_pageable))
    return unsafe_on_stream(stream, "a copy that waits");
  call->counts.copies += 1;
  const VirtualNs cost = copy_cost(bytes, !to_device || !from_device);
  if (stream->capture != nullptr) {
    given() = {{to, "a copy"}, {from_device ? from : nullptr, "a copy"}};
    add_node(*stream->capture, {"memcpy", true, bytes, cost});
    if (to_device) call->contents.forget(address_of(to), bytes);
    return CUDA_SUCCESS;
  }
  move_contents(*call, to, from, bytes, to_device, from_device);
  const VirtualNs done = enqueue(*call, stream, cost, copy_work(*call, to, from, bytes));
  if (blocks || to_pageable) synchronize(*call, done, stream);
  return CUDA_SUCCESS;
}

CUresult fill_on(const void* stream_handle, void* to, std::uint32_t value, std::uint64_t bytes, int width,
                 bool blocks) {
  Call call;
  Stream* const stream = stream_of(*call, stream_handle);
  if (stream == nullptr) return misuse(CUDA_ERROR_INVALID_HANDLE, "fill on a stream that does not live");
  if (const auto wrong = check_side(*call, to, bytes, "fill")) return wrong;
  call->counts.copies += 1;
  if (stream->capture != nullptr) {
    given() = {{to, "a fill"}};
    add_node(*stream->capture, {"memset", true, bytes, copy_cost(bytes, false)});
    call->contents.forget(address_of(to), bytes);
    return CUDA_SUCCESS;
  }
  if (is_real(bytes)) {
    write_pattern(to, value, bytes, width);
    call->contents.remember(address_of(to), bytes);
  } else {
    call->contents.forget(address_of(to), bytes);
  }
  const VirtualNs done = enqueue(*call, stream, copy_cost(bytes, false),
                                 {.kind = WorkKind::kFill, .name = "memset", .bytes = bytes});
  if (blocks) synchronize(*call, done, stream);
  return CUDA_SUCCESS;
}

}  // namespace stowage::simulator
