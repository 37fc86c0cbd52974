#include "tests/tracer/feeding_allocator.h"

#include <atomic>

namespace stowage::tracer::testing {
namespace {

std::atomic<Recorder*> listening{nullptr};

c10::Allocator* upstream = nullptr;  // torch's own; lives for ever

void free_and_tell(void* address) {
  if (Recorder* recorder = listening.load()) recorder->on_free(address);
  upstream->raw_deallocate(address);
}

}  // namespace

FeedingAllocator::FeedingAllocator(Recorder* recorder) : upstream_(c10::GetAllocator(c10::kCPU)) {
  upstream = upstream_;
  listening = recorder;
  c10::SetAllocator(c10::kCPU, this, 255);
}

FeedingAllocator::~FeedingAllocator() {
  listening = nullptr;
  c10::SetAllocator(c10::kCPU, upstream_, 255);
}

// The address is its own context: raw_allocate, which oneDNN uses, insists on it.
c10::DataPtr FeedingAllocator::allocate(size_t bytes) {
  void* const address = upstream_->raw_allocate(bytes);
  if (Recorder* recorder = listening.load(); recorder != nullptr && address != nullptr) {
    recorder->on_alloc(address, Bytes(bytes), round_up(Bytes(bytes)), StreamId(0));
  }
  return {address, address, &free_and_tell, c10::Device(c10::kCPU)};
}

c10::DeleterFnPtr FeedingAllocator::raw_deleter() const { return &free_and_tell; }

}  // namespace stowage::tracer::testing
