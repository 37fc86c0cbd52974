// Buffers of records, as CUPTI fills them and as it should not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/records/record_reader.h"

namespace stowage::tracer::cupti {
namespace {

using testing::Bytes;

class RecordsTest : public ::testing::Test {
 protected:
  std::vector<Record> read(const std::vector<Bytes>& records, std::size_t cut = 0) {
    Bytes buffer;
    for (const Bytes& record : records) buffer.insert(buffer.end(), record.begin(), record.end());
    std::vector<Record> found;
    read_buffer(buffer.data(), buffer.size() - cut, library, names, found, losses);
    return found;
  }
  testing::FakeCupti fake;
  Library library = fake.library();
  NameBook names;
  ActivityLosses losses;
};

TEST_F(RecordsTest, AKernelOfEachVersionReadsAlike) {
  for (const std::size_t size : testing::kKernelSizes) {
    fake.kernel_size = size;
    const auto found = read({testing::kernel({5, 100, 250, 3, 1}, "gemm", size, 77),
                             testing::kernel({6, 300, 350, 3, 1}, "add", size)});
    ASSERT_EQ(found.size(), 2u) << size;
    EXPECT_EQ(found[0].kind, RecordKind::kKernel);
    EXPECT_EQ(found[0].correlation, 5u);
    EXPECT_EQ(found[0].begin, 100u);
    EXPECT_EQ(found[0].end, 250u);
    EXPECT_EQ(found[0].stream, 3u);
    EXPECT_EQ(found[0].device, 1u);
    EXPECT_EQ(found[0].graph_node, 77u);
    EXPECT_EQ(names.names()[found[0].name], "gemm");
    EXPECT_EQ(names.names()[found[1].name], "add");
  }
}

TEST_F(RecordsTest, NamesAreCopiedAndKeptOnce) {
  std::string name = "kernel_of_a_module";
  const auto found =
      read({testing::kernel({1, 1, 2}, name.c_str()), testing::kernel({2, 3, 4}, name.c_str())});
  name.assign(name.size(), 'x');  // the module is unloaded
  EXPECT_EQ(found[0].name, found[1].name);
  EXPECT_EQ(names.names()[found[0].name], "kernel_of_a_module");
}

TEST_F(RecordsTest, AKernelWithoutANameHasOneInWords) {
  const auto found = read({testing::kernel({1, 1, 2}, nullptr)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(names.names()[found[0].name], "kernel without a name");
}

TEST_F(RecordsTest, OtherKindsReadTheirOwnFields) {
  const auto found =
      read({testing::copy({3, 10, 20, 4, 1, 4096}), testing::copy({4, 30, 40, 4, 1, 64}, RecordKind::kMemset),
            testing::copy({5, 50, 60, 4, 1, 32}, RecordKind::kMemcpyPeer), testing::call(3),
            testing::external(3, 1234), testing::synchronization(8, 70, 90),
            testing::memory_operation(9, 512, 95)});
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0].value, 4096u);
  EXPECT_EQ(found[0].correlation, 3u);
  EXPECT_TRUE(found[0].is_copy());
  EXPECT_EQ(found[1].correlation, 4u);
  EXPECT_EQ(found[2].correlation, 5u);
  EXPECT_EQ(names.names()[found[3].name], "cudaLaunchKernel");
  EXPECT_EQ(found[3].thread, 99u);
  EXPECT_EQ(found[4].value, 1234u);
  EXPECT_EQ(found[4].detail, kOurExternalKind);
  EXPECT_EQ(found[5].end - found[5].begin, 20u);
  EXPECT_EQ(found[6].value, 512u);
  EXPECT_FALSE(found[6].is_gpu_work());
  EXPECT_FALSE(losses.any());
}

TEST_F(RecordsTest, AnUnknownKindEndsTheBufferAndIsCounted) {
  const auto found =
      read({testing::kernel({1, 1, 2}), testing::RecordBytes(static_cast<RecordKind>(4711), 64),
            testing::kernel({2, 3, 4})});
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(losses.unknown, 1u);
}

TEST_F(RecordsTest, AZeroedTailEndsTheBufferAndIsCounted) {
  const auto found = read({testing::kernel({1, 1, 2}), Bytes(48, std::byte{0})});
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(losses.unknown, 1u);
}

TEST_F(RecordsTest, ACutRecordIsNotRead) {
  for (std::size_t cut = 1; cut < 216; cut += 5) {
    const auto found = read({testing::copy({1, 1, 2}), testing::kernel({2, 3, 4})}, cut);
    ASSERT_EQ(found.size(), 1u) << cut;
  }
}

TEST_F(RecordsTest, AnEmptyBufferHasNone) {
  EXPECT_TRUE(read({}).empty());
  EXPECT_FALSE(losses.any());
}

}  // namespace
}  // namespace stowage::tracer::cupti
