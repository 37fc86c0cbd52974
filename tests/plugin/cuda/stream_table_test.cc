#include "plugin/cuda/device/stream_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stowage::plugin {
namespace {

void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(0x7f0000000000u + number * 64); }

TEST(StreamTable, DefaultStreamIsZeroAndOthersCountUpInOrderOfFirstUse) {
  StreamTable table;
  EXPECT_EQ(table.id_of(handle(9)), StreamId{1});
  EXPECT_EQ(table.id_of(nullptr), StreamId{0});
  EXPECT_EQ(table.id_of(handle(3)), StreamId{2});
  EXPECT_EQ(table.id_of(handle(9)), StreamId{1});
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.handle_of(StreamId{0}), nullptr);
  EXPECT_EQ(table.handle_of(StreamId{2}), handle(3));
}

TEST(StreamTable, AFullTableGivesNoOrdinalAndKeepsTheOldOnes) {
  StreamTable table;
  for (std::uint32_t i = 1; i < StreamTable::kCapacity; ++i) ASSERT_EQ(table.id_of(handle(i)), StreamId{i});
  EXPECT_EQ(table.id_of(handle(StreamTable::kCapacity)), std::nullopt);
  EXPECT_EQ(table.id_of(handle(7)), StreamId{7});
}

TEST(StreamTable, ThreadsAgreeOnEveryOrdinal) {
  StreamTable table;
  constexpr std::uintptr_t kStreams = 200;
  std::vector<std::vector<StreamId>> seen(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&table, &mine = seen[t], t] {
      for (std::uintptr_t i = 0; i < kStreams; ++i)
        mine.push_back(*table.id_of(handle((i * 7 + t) % kStreams + 1)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.size(), kStreams + 1);
  for (std::size_t t = 0; t < seen.size(); ++t) {
    for (std::uintptr_t i = 0; i < kStreams; ++i) {
      EXPECT_EQ(table.handle_of(seen[t][i]), handle((i * 7 + t) % kStreams + 1));
    }
  }
}

}  // namespace
}  // namespace stowage::plugin
