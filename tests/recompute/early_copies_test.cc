// Copies that are begun ahead of time, with a store that copies at the last moment: what it would read or
// write too late, or in vain, shows.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "recompute/away/guard_range.h"
#include "recompute/storage/lent_memory.h"
#include "tests/recompute/recorded_ops.h"

namespace stowage::recompute {
namespace {

/// What it was asked to do is done by finish(), and not at all if nobody calls that.
class LateStore final : public Store {
 public:
  bool fails = false;
  int copies = 0;

  class Late final : public StoredCopy {
   public:
    Late(LateStore& store, const void* from, std::uint64_t bytes)
        : store_(store), from_(from), content_(bytes) {}
    Status begin_read(void* to) override {
      to_ = to;
      return {};
    }
    Status finish() override {
      if (from_ == nullptr && to_ == nullptr) return {};
      ++store_.copies;
      const void* const from = std::exchange(from_, nullptr);
      void* const to = std::exchange(to_, nullptr);
      if (store_.fails) return Error{ErrorCode::kIo, "the disk is gone"};
      from != nullptr ? std::memcpy(content_.data(), from, content_.size())
                      : std::memcpy(to, content_.data(), content_.size());
      return {};
    }
    [[nodiscard]] bool matches(const void* from) const override {
      return std::memcmp(from, content_.data(), content_.size()) == 0;
    }

   private:
    LateStore& store_;
    const void* from_;
    void* to_ = nullptr;
    std::vector<std::byte> content_;
  };

  Result<std::unique_ptr<StoredCopy>> begin_put(const void* from, std::uint64_t bytes) override {
    return std::unique_ptr<StoredCopy>(std::make_unique<Late>(*this, from, bytes));
  }
  [[nodiscard]] CopyLanes lanes() const override { return CopyLanes::kShared; }
  [[nodiscard]] std::uint64_t copy_ns(std::uint64_t bytes) const override { return bytes; }
  [[nodiscard]] std::uint64_t held() const override { return 0; }
  void after_fork(bool /*in_child*/) override {}
};

class EarlyCopies : public ::testing::Test {
 protected:
  EarlyCopies() {
    EXPECT_TRUE(reserve_guard_range());
    auto store = std::make_unique<LateStore>();
    store_ = store.get();
    ops_.stores.use(0, std::move(store));
  }
  StorageRecord& record_of(const at::Tensor& tensor) { return ops_.record_of(tensor); }
  Offloader& offloader() { return ops_.offloader; }

  test::RecordedOps ops_;
  LateStore* store_;
  at::Tensor x_ = at::arange(4096, at::kFloat);
  const at::Tensor expected_ = x_.clone();
};

TEST_F(EarlyCopies, AreThereWhenTheTensorIsOffloaded) {
  StorageRecord& record = record_of(x_);
  const void* const address = x_.data_ptr();
  ASSERT_TRUE(offloader().begin_store(record));
  EXPECT_EQ(store_->copies, 0);
  EXPECT_EQ(x_.data_ptr(), address) << "the tensor is there as before";
  EXPECT_TRUE(owned_by_allocator(*record.address));
  EXPECT_TRUE(offloader().begin_store(record)) << "it is under way";
  ASSERT_TRUE(offloader().offload(record));
  EXPECT_EQ(store_->copies, 1);
  EXPECT_FALSE(record.being_stored || record.lent);
  offloader().fetch(record);
  EXPECT_TRUE(x_.equal(expected_));
  EXPECT_EQ(store_->copies, 2);
}

TEST_F(EarlyCopies, AWriteWaitsForThem) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().begin_store(record));
  offloader().settle(record);
  EXPECT_EQ(store_->copies, 1);
  EXPECT_FALSE(is_lent(*record.address)) << "the storage has its own pointer again";
  x_.zero_();
  ASSERT_TRUE(offloader().offload(record)) << "the copy does not match any more: another one is made";
  EXPECT_EQ(store_->copies, 2);
  offloader().fetch(record);
  EXPECT_EQ(x_.sum().item<float>(), 0);
}

TEST_F(EarlyCopies, AFailedOneLeavesTheTensorAsItIs) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().begin_store(record));
  store_->fails = true;
  EXPECT_FALSE(offloader().offload(record));
  EXPECT_EQ(ops_.stores.trouble, "the disk is gone");
  EXPECT_TRUE(x_.equal(expected_));
  EXPECT_FALSE(is_lent(*record.address));
  store_->fails = false;
  EXPECT_TRUE(offloader().offload(record));
}

TEST_F(EarlyCopies, MemoryThatTheJobFreesMeanwhileStaysUntilTheyAreDone) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().begin_store(record));
  const std::weak_ptr<c10::DataPtr> memory = record.lent;
  x_.storage().set_data_ptr_noswap(c10::GetAllocator(c10::kCPU)->allocate(x_.nbytes()));  // as resize_() does
  ASSERT_FALSE(memory.expired());
  EXPECT_EQ(static_cast<const float*>(memory.lock()->get())[4095], 4095);
  offloader().finish_all();
  EXPECT_TRUE(memory.expired());
  EXPECT_FALSE(is_lent(*record.address));
}

TEST_F(EarlyCopies, ATensorThatDiesMeanwhileIsFreedWhenItIsBuried) {
  ASSERT_TRUE(offloader().begin_store(record_of(x_)));
  const std::weak_ptr<c10::DataPtr> memory = record_of(x_).lent;
  x_.reset();
  EXPECT_FALSE(memory.expired());
  ops_.book.bury_all_dead([this](StorageRecord& dead) { offloader().settle(dead); });
  EXPECT_TRUE(memory.expired());
  EXPECT_EQ(ops_.book.size(), 0u);
}

TEST_F(EarlyCopies, BackAreThereWhenSomebodyAsks) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().offload(record));
  offloader().prefetch(record);
  offloader().prefetch(record);
  EXPECT_TRUE(record.offloaded && record.arriving);
  EXPECT_EQ(store_->copies, 1) << "the copy there alone";
  offloader().fetch(record);
  EXPECT_EQ(store_->copies, 2);
  EXPECT_TRUE(x_.equal(expected_));
  EXPECT_FALSE(record.offloaded || record.arriving);
}

TEST_F(EarlyCopies, BackThatFailAreReadAgain) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().offload(record));
  offloader().prefetch(record);
  store_->fails = true;
  EXPECT_THROW(offloader().fetch(record), c10::Error);
  EXPECT_TRUE(record.offloaded && !record.arriving);
  store_->fails = false;
  offloader().fetch(record);
  EXPECT_TRUE(x_.equal(expected_));
}

TEST_F(EarlyCopies, BackAreGivenUpWhereMemoryIsShort) {
  StorageRecord& record = record_of(x_);
  ASSERT_TRUE(offloader().offload(record));
  offloader().prefetch(record);
  EXPECT_EQ(offloader().drop_arriving(1, Place{0, 0}), x_.nbytes());
  EXPECT_FALSE(record.arriving);
  EXPECT_EQ(offloader().drop_arriving(1, Place{0, 0}), 0u);
  offloader().fetch(record);
  EXPECT_TRUE(x_.equal(expected_));
}

TEST_F(EarlyCopies, AreOverWhenTheIterationIs) {
  at::Tensor y = x_.clone();
  ASSERT_TRUE(offloader().begin_store(record_of(x_)));
  ASSERT_TRUE(offloader().offload(record_of(y)));
  offloader().prefetch(record_of(y));
  offloader().finish_all();
  EXPECT_FALSE(record_of(x_).being_stored);
  EXPECT_TRUE(record_of(y).offloaded && !record_of(y).arriving);
  offloader().fetch(record_of(y));
  EXPECT_TRUE(y.equal(expected_));
}

TEST(LentMemory, KnowsWhatTheAllocatorGave) {
  const at::Tensor x = at::ones(8);
  c10::StorageImpl& storage = *x.storage().unsafeGetStorageImpl();
  const auto deleter = storage.data_ptr().get_deleter();
  const LentMemory memory = lend_memory(storage);
  EXPECT_TRUE(is_lent(storage));
  EXPECT_EQ(own_pointer(storage.data_ptr()).get_deleter(), deleter);
  EXPECT_EQ(own_pointer(storage.data_ptr()).get(), x.data_ptr());
  EXPECT_EQ(storage.data_ptr().device(), c10::Device(c10::kCPU));
  end_loan(storage, memory);
  EXPECT_FALSE(is_lent(storage));
  EXPECT_EQ(storage.data_ptr().get_deleter(), deleter);
  end_loan(storage, memory);  // it is over
  EXPECT_EQ(x.sum().item<float>(), 8);
}

}  // namespace
}  // namespace stowage::recompute
