// One session that five threads use at once: no two live blocks overlap, counters agree, the job is planned
// whenever it is left alone, and all is given back in the end.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/session/busy_session.h"

namespace stowage::session {
namespace {

using SessionThreads = BusySession;

TEST_F(SessionThreads, AllocateAndFreeWhileOthersMark) {
  start();
  const Step mark = [&](Blocks& blocks) {
    session->on_optimizer_begin();
    use_other_sizes(blocks);
    session->on_optimizer_end();
    session->on_mark(MarkSource::kOptimizer);
  };
  for (int round = 0; round < 3; ++round) {
    reach_plan();
    beside({use_planned_sizes, use_other_sizes, use_on_two_streams, mark}, [&] {
      for (int i = 0; i < 20; ++i) iterate(i % 3 == 0 ? 14 : 12);
    });
  }
  expect_nothing_left();
}

TEST_F(SessionThreads, UseBlocksOfPlansThatAreExchangedAndOfFurtherOnes) {
  Settings settings = patient();
  settings.diverged_iterations = 1'000'000;
  start(settings);
  reach_plan();
  for (int i = 0; i < 6; ++i) iterate(15), iterate(), iterate();
  EXPECT_GE(report()["plans"].size(), 2u);
  iterate(12, /*kept=*/3);
  EXPECT_TRUE(session->owns(mine->address(0)));
  beside({use_planned_sizes, use_other_sizes, use_on_two_streams, use_planned_sizes}, [&] {
    for (int i = 0; i < 20; ++i) iterate(15), iterate(), iterate(18);
  });
  constexpr int kMost = 400;  // patience grows with exchanges in vain
  int iterations = 0;
  for (int clean = 0; clean < 4 && iterations < kMost; ++iterations) {
    iterate();
    clean = report()["last_iteration_misses"] == 0 ? clean + 1 : 0;
  }
  EXPECT_LT(iterations, kMost) << session->report_json();
  EXPECT_TRUE(session->owns(mine->address(0))) << "the plans lie around what stays";
  expect_nothing_left();
}

// A capture may begin and end anywhere in what others do.
TEST_F(SessionThreads, CaptureGraphsWhileOthersTrain) {
  start();
  const Step capture = [&](Blocks& blocks) {
    port.capturing = true;
    for (int i = 0; i < 4; ++i) use_planned_sizes(blocks);
    session->give_back_idle();
    session->on_mark(MarkSource::kOptimizer);
    port.capturing = false;
    use_other_sizes(blocks);
  };
  for (int round = 0; round < 3; ++round) {
    reach_plan();
    beside({capture, use_planned_sizes, use_on_two_streams, use_other_sizes}, [&] {
      for (int i = 0; i < 20; ++i) iterate(12, /*kept=*/i == 10 ? 1 : 0);
    });
  }
  expect_nothing_left();
}

TEST_F(SessionThreads, GiveMemoryBackWhileOthersTrain) {
  port.caches = true;
  start();
  const Step give_back = [&](Blocks& blocks) {
    for (int i = 0; i < 3; ++i) use_planned_sizes(blocks);
    session->give_back_idle();
    session->reset_peak();
  };
  const Step evaluate = [&](Blocks& blocks) {
    for (std::uint64_t i = 0; i < 6; ++i) blocks.make((std::uint64_t{3} << 20) + 512 * i);
    blocks.drop_all();
  };
  reach_plan();
  beside({give_back, evaluate, use_on_two_streams, give_back}, [&] {
    for (int i = 0; i < 40; ++i) iterate();
  });
  EXPECT_GE(report()["switched_at_iteration"], 1);
  expect_nothing_left();
}

TEST_F(SessionThreads, ReportWhileOthersTrain) {
  start();
  session->watch_blocks(true);
  const std::string path = std::filesystem::temp_directory_path() / ("threads-" + std::to_string(getpid()));
  const Step tell = [&](Blocks& blocks) {
    EXPECT_FALSE(report()["state"].empty());
    EXPECT_TRUE(session->save_trace(path).ok());
    use_other_sizes(blocks);
  };
  const Step look = [&](Blocks& blocks) {
    use_planned_sizes(blocks);
    void* const address = blocks.address(0);
    const std::optional<allocator::ArenaBlock> block = session->block_at(address);
    EXPECT_EQ(block.has_value(), session->owns(address));
    if (!block) return;
    EXPECT_EQ(session->size_of(address), block->rounded);
    const std::vector<allocator::ArenaBlock> all = session->active_blocks(address);
    EXPECT_NE(std::find_if(all.begin(), all.end(),
                           [&](const allocator::ArenaBlock& one) {
                             return one.offset == block->offset &&
                                    one.requested == block->requested;  // its age may be another by now
                           }),
              all.end());
  };
  for (int round = 0; round < 3; ++round) {
    reach_plan();
    beside({tell, look, use_on_two_streams, look}, [&] {
      for (int i = 0; i < 20; ++i) iterate();
    });
  }
  expect_nothing_left();
  const std::int64_t allocated = port.counters.use().blocks[0].allocated;
  for (const auto& heard : port.heard) EXPECT_EQ(heard, allocated);
  std::filesystem::remove(path);
}

// No two iterations are alike; the job is stopped, in the end, while others allocate.
TEST_F(SessionThreads, AreServedWithoutAPlan) {
  port.caches = true;
  start();
  mine->make(
      64 << 20);  // upstream keeps more than others use by chance: memory is no reason to leave the arena
  mine->drop(0);
  const auto vary = [&] {
    for (int i = 0; i < 8; ++i) mine->make(mine->any_size(kBlock, 40'000));
    while (mine->size() > 0) mine->drop(mine->random() % mine->size());
    session->on_mark(MarkSource::kOptimizer);
  };
  for (int i = 0; i < 40 && session->state() != SessionState::kOnline; ++i) vary();
  ASSERT_EQ(session->state(), SessionState::kOnline) << session->report_json();
  const Step give_back = [&](Blocks& blocks) {
    use_other_sizes(blocks);
    session->give_back_idle();
    if (blocks.random() % 4 == 0) session->on_mark(MarkSource::kOptimizer);
  };
  beside({use_other_sizes, use_on_two_streams, give_back, use_planned_sizes}, [&] {
    for (int i = 0; i < 30; ++i) vary();
  });
  EXPECT_EQ(session->state(), SessionState::kOnline) << session->report_json();
  EXPECT_GT(report()["online"], 0);
  beside({use_other_sizes, use_on_two_streams, give_back}, [&] {
    vary();
    session->stop();
    vary();
  });
  expect_nothing_left();
}

TEST_F(SessionThreads, StopWhileOthersTrain) {
  start();
  reach_plan();
  const Step watch = [&](Blocks& blocks) {
    session->watch_blocks(blocks.random() % 2 == 0);
    use_planned_sizes(blocks);
    session->on_mark(MarkSource::kOptimizer);
  };
  const Step stop_soon = [&](Blocks& blocks) {
    use_other_sizes(blocks);
    if (session->state() == SessionState::kOff) session->stop();
  };
  beside({use_planned_sizes, use_on_two_streams, watch, stop_soon}, [&] {
    for (int i = 0; i < 20; ++i) iterate();
    session->stop();
    for (int i = 0; i < 20; ++i) iterate();
  });
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_FALSE(session->try_allocate(Bytes(kBlock), StreamId(0)));
  expect_nothing_left();
}

}  // namespace
}  // namespace stowage::session
