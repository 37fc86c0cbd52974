#include "tests/tracer/feeding_allocator.h"

#include <atomic>

namespace stowage::tracer::testing {
namespace {

std::atomic<Recorder*> listening{nullptr};

// Owns upstream's memory; its deleter tells the recorder first.
void free_and_tell(void* context) {
  auto* const held = static_cast<c10::DataPtr*>(context);
  if (Recorder* recorder = listening.load()) recorder->on_free(held->get());
  delete held;
}

}  // namespace

FeedingAllocator::FeedingAllocator(Recorder* recorder) : upstream_(c10::GetAllocator(c10::kCPU)) {
  listening = recorder;
  c10::SetAllocator(c10::kCPU, this, 255);
}

FeedingAllocator::~FeedingAllocator() {
  listening = nullptr;
  c10::SetAllocator(c10::kCPU, upstream_, 255);
}

c10::DataPtr FeedingAllocator::allocate(size_t bytes) {
  auto* const held = new c10::DataPtr(upstream_->allocate(bytes));
  void* const address = held->get();
  if (Recorder* recorder = listening.load(); recorder != nullptr && address != nullptr) {
    recorder->on_alloc(address, Bytes(bytes), round_up(Bytes(bytes)), StreamId(0));
  }
  return {address, held, &free_and_tell, c10::Device(c10::kCPU)};
}

}  // namespace stowage::tracer::testing
