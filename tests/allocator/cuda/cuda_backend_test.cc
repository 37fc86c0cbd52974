// The CUDA backends' conformance, on a GPU or on the simulated device; skipped where there is neither.
#include "allocator/cuda/cuda_api.h"
#include "allocator/cuda/cuda_malloc_backend.h"
#include "allocator/cuda/cuda_vmm_backend.h"
#include "tests/allocator/backend_conformance.h"

namespace stowage::allocator::testing {
namespace {

// Copies a byte to both ends and waits: the device can reach the memory. Values are compared only where the
// device keeps any, which the simulated one does not.
void touch_device(char* first, Bytes bytes) {
  const Result<const CudaApi*> api = CudaApi::load();
  ASSERT_TRUE(api.ok());
  const char out = 0x5a;
  for (char* const at : {first, first + bytes.value() - 1}) {
    EXPECT_EQ((*api)->copy(at, &out, 1, cudaMemcpyHostToDevice), cudaSuccess);
  }
  EXPECT_EQ((*api)->synchronize(), cudaSuccess);
}

struct CudaVmm {
  using Backend = CudaVmmBackend;
  static Result<Backend> make() { return CudaVmmBackend::open(0); }
  static void touch(char* first, Bytes bytes) { touch_device(first, bytes); }
};

struct CudaMalloc {
  using Backend = CudaMallocBackend;
  static Result<Backend> make() { return CudaMallocBackend::open(0); }
  static void touch(char* first, Bytes bytes) { touch_device(first, bytes); }
};

using Subjects = ::testing::Types<CudaVmm, CudaMalloc>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, BackendConformance, Subjects);

// The device's free memory falls with an arena and is back after it: nothing leaks, and memory is the
// device's.
template <class Backend>
void expect_memory_comes_back() {
  Result<Backend> backend = Backend::open(0);
  if (!backend.ok()) GTEST_SKIP() << backend.error().message;
  const Backend probe = *backend;
  const Result<MemoryInfo> before = probe.memory();
  ASSERT_TRUE(before.ok()) << before.error().message;
  const Bytes wanted(256u << 20);
  if (before->free < wanted + wanted) GTEST_SKIP() << "the device has less than 512 MiB free";
  {
    const auto arena = make_arena(std::move(*backend), wanted, wanted);
    ASSERT_TRUE(arena.ok()) << arena.error().message;
    EXPECT_LE(probe.memory()->free + wanted, before->free + Bytes(4u << 20));
  }
  EXPECT_GE(probe.memory()->free + Bytes(4u << 20), before->free);
}

TEST(CudaVmmBackend, GivesItsMemoryBackToTheDevice) { expect_memory_comes_back<CudaVmmBackend>(); }
TEST(CudaMallocBackend, GivesItsMemoryBackToTheDevice) { expect_memory_comes_back<CudaMallocBackend>(); }

TEST(CudaBackends, ADeviceThatIsNotThereIsNamed) {
  if (const auto first = CudaMallocBackend::open(0); !first.ok()) GTEST_SKIP() << first.error().message;
  const auto backend = CudaVmmBackend::open(4711);
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(backend.error().message.find("4711"), std::string::npos);
}

}  // namespace
}  // namespace stowage::allocator::testing
