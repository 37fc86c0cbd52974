// PyTorch's CPU allocator with a recorder listening, for the tests.
#pragma once

#include <c10/core/Allocator.h>

#include "tracer/recorder/recorder.h"

namespace stowage::tracer::testing {

/// While one lives, every CPU allocation and free of torch goes to `recorder`. One at a time; buffers may
/// outlive it.
class FeedingAllocator final : public c10::Allocator {
 public:
  explicit FeedingAllocator(Recorder* recorder);
  ~FeedingAllocator() override;

  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    upstream_->copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* upstream_;
};

}  // namespace stowage::tracer::testing
