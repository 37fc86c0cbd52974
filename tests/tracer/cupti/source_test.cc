// A source's life: what it asks of CUPTI, what it does where CUPTI refuses, and when another client comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/source.h"

namespace stowage::tracer::cupti {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): records by their kinds

constexpr std::uint64_t kNow = 1'790'000'000'000'000'000;

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    fake.time = realtime();
    options.buffers = 4;
    options.buffer_bytes = 4096;
    options.patience = std::chrono::milliseconds(2'000);
  }
  static std::uint64_t realtime() {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
  std::shared_ptr<Source> join() {
    Result<std::shared_ptr<Source>> joined = Source::join(fake.library(), options);
    if (!joined) {
      refusal = joined.error().message;
      return nullptr;
    }
    return *joined;
  }
  [[nodiscard]] std::size_t count(const std::string& call) const {
    return static_cast<std::size_t>(std::count(fake.calls.begin(), fake.calls.end(), call));
  }
  /// An op with one launch; its kernel runs in [begin, end).
  static std::vector<Bytes> launched(std::uint32_t correlation, const OpenedOp& op, std::uint64_t begin,
                                     std::uint64_t end) {
    return {external(correlation, op.id), call(correlation), kernel({correlation, begin, end})};
  }

  FakeCupti fake;
  SourceOptions options;
  std::string refusal;
};

TEST_F(SourceTest, RecordsWhatItsOpsLaunch) {
  const auto source = join();
  const OpenedOp outer = source->push();
  const OpenedOp inner = source->push();
  EXPECT_EQ(inner.parent, outer.id);
  EXPECT_EQ(fake.stack, (std::vector<std::uint64_t>{outer.id, inner.id}));
  source->pop(inner);
  source->pop(outer);
  EXPECT_TRUE(fake.stack.empty());
  fake.write(launched(1, inner, 100, 140));
  const auto collected = source->collect();
  ASSERT_EQ(collected.records.size(), 3u);
  EXPECT_FALSE(collected.losses.any());
  ActivityLosses losses;
  const Attribution found = attribute(collected.records, {outer, inner}, 0, losses);
  EXPECT_EQ(found.work[0].busy, 40u);
  EXPECT_EQ(found.work[1].busy, 40u);
}

TEST_F(SourceTest, LeavesNothingEnabledAndDetaches) {
  auto source = join();
  EXPECT_TRUE(fake.enabled.contains(10)) << "concurrent kernels";
  EXPECT_FALSE(fake.enabled.contains(3)) << "the kind that serialises kernels";
  source.reset();
  EXPECT_TRUE(fake.enabled.empty());
  EXPECT_EQ(fake.calls.back(), "finalize");
  EXPECT_EQ(count("flush 1"), 1u);
  fake.write({call(1)});  // what comes late gets no buffer
  EXPECT_EQ(fake.dropped, 1u);
}

TEST_F(SourceTest, StaysAttachedWhereItMustNotDetach) {
  options.may_detach = [] { return false; };
  join().reset();
  EXPECT_EQ(count("finalize"), 0u);
  EXPECT_TRUE(fake.enabled.empty());
}

TEST_F(SourceTest, StaysAttachedWhereAnotherClientLeftItsClock) {
  fake.time = 123'456;  // ticks since boot
  auto source = join();
  EXPECT_TRUE(source->collect().clock.is_foreign());
  source.reset();
  EXPECT_EQ(count("finalize"), 0u);
}

TEST_F(SourceTest, IsSharedAndEndsWithItsLastHolder) {
  auto first = join();
  auto second = join();
  EXPECT_EQ(first, second);
  first.reset();
  EXPECT_FALSE(fake.enabled.empty());
  second.reset();
  EXPECT_TRUE(fake.enabled.empty());
  EXPECT_NE(join(), nullptr) << "and can begin again";
}

TEST_F(SourceTest, WaitsForRecordsThatComeLate) {
  const auto source = join();
  const OpenedOp op = source->push();
  source->pop(op);
  fake.at_flush = {{external(1, op.id), call(1)}, {}, {}, {kernel({1, 100, 130})}};
  const auto collected = source->collect();
  EXPECT_EQ(collected.records.size(), 3u);
  EXPECT_EQ(collected.losses.missing_work, 0u);
}

TEST_F(SourceTest, DoesNotWaitForWorkThatNeverComes) {
  const auto source = join();
  fake.write({call(1)});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(source->collect().losses.missing_work, 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options.patience);
}

TEST_F(SourceTest, DroppedRecordsAndRefusedBuffersAreCounted) {
  const auto source = join();
  std::vector<Bytes> many;
  for (std::uint32_t i = 1; i < 200; ++i) many.push_back(kernel({i, i, i + 1}));
  fake.write(many);  // four buffers hold 72 of them; the reader may free some meanwhile
  fake.dropped += 5;
  const auto collected = source->collect();
  EXPECT_GE(collected.losses.dropped, 5u);
  EXPECT_EQ(collected.records.size() + collected.losses.dropped, 199u + 5u);
  EXPECT_TRUE(collected.losses.any());
}

TEST_F(SourceTest, KeepsNoMoreThanItMay) {
  options.most_records = 10;
  options.buffers = 32;
  const auto source = join();
  for (std::uint32_t i = 1; i <= 15; ++i) fake.deliver({kernel({i, i, i + 1})});
  const auto collected = source->collect();
  EXPECT_EQ(collected.records.size(), 10u);
  EXPECT_EQ(collected.losses.beyond_limit, 5u);
}

TEST_F(SourceTest, CallsThatDoNothingAreNotKept) {
  const auto source = join();
  fake.write({call(1, 17), call(2, 317), call(3, 20)});
  EXPECT_EQ(source->collect().records.size(), 1u);
}

TEST_F(SourceTest, ARefusalSaysWhatFailed) {
  for (const std::string function : {"get_version", "register_callbacks"}) {
    fake.answers = {{function, 999}};
    EXPECT_EQ(join(), nullptr);
    EXPECT_NE(refusal.find("CUPTI_ERROR_MADE_UP (999)"), std::string::npos) << refusal;
    EXPECT_TRUE(fake.enabled.empty());
  }
}

TEST_F(SourceTest, WithoutPermissionForKernelsNothingStaysEnabled) {
  fake.enable_answers = {{10, 35}};  // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
  EXPECT_EQ(join(), nullptr);
  EXPECT_NE(refusal.find("(35)"), std::string::npos);
  EXPECT_TRUE(fake.enabled.empty());
  fake.enable_answers.clear();
  EXPECT_NE(join(), nullptr);
}

TEST_F(SourceTest, KindsThatItCanDoWithoutMayBeRefused) {
  fake.enable_answers = {{4, 21}, {22, 21}, {38, 21}, {49, 21}, {50, 21}, {17, 21}};
  const auto source = join();
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(fake.enabled, (std::set<std::uint32_t>{1, 2, 5, 10, 39}));
}

TEST_F(SourceTest, AVersionThatIsNotKnownIsRefused) {
  for (const std::uint32_t version : {18u, 100u, 129'999u, 140'000u}) {
    fake.version = version;
    EXPECT_EQ(join(), nullptr);
    EXPECT_NE(refusal.find(std::to_string(version)), std::string::npos);
  }
  for (const std::uint32_t version : {26u, 28u, 130'001u, 130'202u, 130'500u}) {
    fake.version = version;
    EXPECT_NE(join(), nullptr) << version;
  }
}

TEST_F(SourceTest, BeginsNotWhileAnotherProfilerRecords) {
  options.others_record = [] { return true; };
  EXPECT_EQ(join(), nullptr);
  EXPECT_TRUE(fake.calls.empty()) << "its callbacks must stay";
}

TEST_F(SourceTest, GivesWayToAnotherProfiler) {
  bool others = false;
  options.others_record = [&] { return others; };
  auto source = join();
  const OpenedOp before = source->push();
  others = true;
  fake.take_over();
  const OpenedOp after = source->push();
  EXPECT_EQ(after.id, 0u);
  EXPECT_TRUE(source->is_lost());
  EXPECT_EQ(count("flush 0"), 1u) << "so that the other client's buffers are filled from now on";
  source->pop(after);
  source->pop(before);
  EXPECT_TRUE(fake.stack.empty()) << "its own ids are taken back";
  fake.write({call(1)});  // a buffer that the other client gets
  const std::vector<std::string> calls = fake.calls;
  EXPECT_EQ(source->collect().losses.lost_buffers, 1u);
  source.reset();
  EXPECT_EQ(fake.calls, calls)
      << "no disable, no further flush, no finalize: they would end the other's recording";
}

TEST_F(SourceTest, LeavesCuptiCleanWhereAnotherProfilerIsAboutToBegin) {
  auto source = join();
  const OpenedOp open = source->push();
  fake.write({call(1)});
  Source::leave_present();
  EXPECT_TRUE(source->is_lost());
  EXPECT_TRUE(fake.enabled.empty());
  EXPECT_EQ(source->collect().losses.lost_buffers, 0u);
  EXPECT_EQ(source->collect().records.size(), 1u) << "what was recorded before is kept";
  fake.take_over();
  source->pop(open);
  EXPECT_TRUE(fake.stack.empty());
  EXPECT_EQ(source->push().id, 0u);
  const std::vector<std::string> calls = fake.calls;
  Source::leave_present();
  source.reset();
  Source::leave_present();
  EXPECT_EQ(fake.calls, calls) << "no call of ours while the other one records";
}

TEST_F(SourceTest, AnOpThatEndsElsewhereTakesBackNothing) {
  const auto source = join();
  const OpenedOp op = source->push();
  std::thread([&] { source->pop(op); }).join();
  EXPECT_EQ(fake.stack.size(), 1u);
  source->pop(op);
  EXPECT_TRUE(fake.stack.empty());
}

TEST_F(SourceTest, AnOpThatNeverEndedIsTakenBackWithItsOuter) {
  const auto source = join();
  const OpenedOp outer = source->push();
  source->push();
  source->pop(outer);
  EXPECT_TRUE(fake.stack.empty());
}

TEST_F(SourceTest, ThreadsMayOpenOpsWhileRecordsAreCollected) {
  const auto source = join();
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t i = 1; i <= 200; ++i) {
        const OpenedOp op = source->push();
        fake.deliver(launched(1'000 * thread + i, op, i, i + 1));
        source->pop(op);
      }
    });
  }
  for (int i = 0; i < 20; ++i) static_cast<void>(source->collect());
  for (std::thread& thread : threads) thread.join();
  const auto collected = source->collect();
  EXPECT_EQ(collected.records.size() + collected.losses.dropped, 3u * 200 * 3);
}

}  // namespace
}  // namespace stowage::tracer::cupti
