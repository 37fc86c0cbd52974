// Every kind of event, in a snapshot; the memory bound; wrong and unknown calls; many threads at once.
#include "tracer/recorder/recorder.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <thread>

#include "tests/tracer/feed.h"

namespace stowage::tracer::testing {
namespace {

OpRecord::Use use(const void* address, std::uint32_t version = 0, std::uint64_t bytes = 512) {
  return {address, version, Bytes(bytes)};
}

TEST(Recorder, writes_down_an_allocation_and_its_two_step_free) {
  Feed feed;
  const void* a = feed.alloc(100, 3);
  const void* b = feed.alloc(600);
  feed.recorder.on_cross_stream_use(a, StreamId(1));
  feed.recorder.on_cross_stream_use(b, StreamId(0));
  feed.recorder.on_free_requested(a);
  feed.alloc(1);
  feed.recorder.on_free_completed(a);
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  ASSERT_EQ(trace.buffers.size(), 3u);
  EXPECT_EQ(trace.buffers[0].bytes, Bytes(100));
  EXPECT_EQ(trace.buffers[0].rounded, Bytes(512));
  EXPECT_EQ(trace.buffers[0].stream, StreamId(3));
  EXPECT_EQ(trace.buffers[0].birth, Tick(0));
  EXPECT_EQ(trace.buffers[0].free_requested, Tick(2));
  EXPECT_EQ(trace.buffers[0].death, Tick(3));
  EXPECT_TRUE(trace.buffers[0].cross_stream);
  EXPECT_EQ(trace.buffers[1].death, kNever);
  EXPECT_FALSE(trace.buffers[1].cross_stream) << "its own stream is no other stream";
  EXPECT_EQ(trace.end, Tick(4));
  EXPECT_EQ(feed.recorder.live(), Bytes(1024 + 512));
}

TEST(Recorder, tells_which_requests_of_the_last_window_outlived_it) {
  Feed feed;
  EXPECT_TRUE(feed.recorder.lives_of_window().empty());
  feed.alloc(512);
  feed.recorder.on_mark(MarkSource::kOptimizer);
  const void* freed = feed.alloc(100, 3);
  const void* lasting = feed.alloc(600);
  feed.recorder.on_free(freed);
  feed.alloc(1500);
  feed.recorder.on_mark(MarkSource::kOptimizer);
  feed.recorder.on_free(lasting);
  const std::vector<RequestLife> lives = feed.recorder.lives_of_window();
  EXPECT_EQ(lives, (std::vector<RequestLife>{{Bytes(512), StreamId(3), false, 1},
                                             {Bytes(1024), StreamId(0), true, 1},
                                             {Bytes(1536), StreamId(0), true, 0}}));
}

TEST(Recorder, ignores_unknown_null_and_repeated_frees) {
  Feed feed;
  const void* a = feed.alloc(512);
  feed.recorder.on_free(address_of(1000));
  feed.recorder.on_free(nullptr);
  feed.recorder.on_free_completed(a);
  feed.recorder.on_free_requested(a);
  feed.recorder.on_free(a);
  const Trace trace = feed.recorder.snapshot();
  ASSERT_EQ(trace.buffers.size(), 1u);
  EXPECT_EQ(trace.buffers[0].death, Tick(1));
  EXPECT_EQ(trace.buffers[0].free_requested, Tick(1));
  EXPECT_EQ(trace.end, Tick(2));
  EXPECT_EQ(feed.recorder.live(), Bytes(0));
}

TEST(Recorder, an_address_given_out_again_ends_the_buffer_that_was_there) {
  Feed feed;
  const void* a = feed.alloc(512);
  feed.recorder.on_alloc(a, Bytes(512), Bytes(512), StreamId(0));
  const Trace trace = feed.recorder.snapshot();
  ASSERT_EQ(trace.buffers.size(), 2u);
  EXPECT_EQ(trace.buffers[0].death, Tick(1));
  EXPECT_EQ(trace.buffers[1].birth, Tick(2));
  EXPECT_TRUE(trace.validate().ok());
}

TEST(Recorder, nests_ops_and_gives_allocations_to_the_innermost) {
  Feed feed;
  const OpId outer = feed.recorder.on_op_begin();
  const void* a = feed.alloc(512);
  const OpId inner = feed.recorder.on_op_begin();
  const void* b = feed.alloc(512);
  feed.recorder.on_op_end(inner, {.name = "aten::inner", .flags = kOpRandom, .begin_ns = 100, .end_ns = 107});
  const std::array inputs{use(a, 2)};
  const std::array outputs{use(b), use(nullptr)};
  feed.recorder.on_op_end(
      outer, {.name = "aten::outer", .stream = StreamId(1), .inputs = inputs, .outputs = outputs});
  feed.alloc(512);
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  ASSERT_EQ(trace.ops.size(), 2u);
  EXPECT_EQ(trace.names[trace.ops[0].name], "aten::outer");
  EXPECT_EQ(trace.names[trace.ops[1].name], "aten::inner");
  EXPECT_EQ(trace.ops[1].parent, OpId(0));
  EXPECT_EQ(trace.ops[1].flags, std::uint32_t{kOpRandom});
  EXPECT_EQ(trace.ops[1].duration_ns, 7u);
  EXPECT_EQ(trace.ops[1].timed_by, TimeSource::kHost);
  EXPECT_EQ(trace.ops[0].stream, StreamId(1));
  EXPECT_EQ(trace.buffers[0].op, OpId(0));
  EXPECT_EQ(trace.buffers[1].op, OpId(1));
  EXPECT_EQ(trace.buffers[2].op, kNoOp);
  ASSERT_EQ(trace.ops[0].input_count, 1u);
  ASSERT_EQ(trace.ops[0].output_count, 1u) << "a null storage is no value";
  EXPECT_EQ(trace.values[trace.ops[0].first_value], (Value{BufferId(0), 2}));
  EXPECT_EQ(trace.values[trace.ops[0].first_value + 1], (Value{BufferId(1), 0}));
}

TEST(Recorder, workspace_is_the_peak_of_what_did_not_outlive_the_op) {
  Feed feed;
  const OpId op = feed.recorder.on_op_begin();
  feed.alloc(1 << 20);  // the output
  const void* a = feed.alloc(1024);
  const void* b = feed.alloc(2048);
  feed.recorder.on_free(a);
  const void* c = feed.alloc(512);
  feed.recorder.on_free(b);
  feed.recorder.on_free(c);
  feed.recorder.on_op_end(op, {.name = "aten::conv"});
  EXPECT_EQ(feed.recorder.snapshot().ops[0].workspace, Bytes(1024 + 2048));
}

TEST(Recorder, an_open_op_is_in_the_snapshot_without_an_end) {
  Feed feed;
  feed.recorder.on_op_begin();
  feed.alloc(512);
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  ASSERT_EQ(trace.ops.size(), 1u);
  EXPECT_EQ(trace.ops[0].end, kNever);
  EXPECT_EQ(trace.buffers[0].op, OpId(0));
}

TEST(Recorder, arguments_from_before_the_recording_become_preexisting_buffers) {
  Feed feed;
  feed.alloc(512);
  const void* weight = address_of(100000);
  for (int i = 0; i < 2; ++i) {
    const OpId op = feed.recorder.on_op_begin();
    const std::array inputs{use(weight, 4, 700)};
    feed.recorder.on_op_end(op, {.name = "aten::mm", .inputs = inputs});
  }
  feed.recorder.on_free(weight);
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  ASSERT_EQ(trace.buffers.size(), 2u);
  EXPECT_TRUE(trace.buffers[0].preexisting);
  EXPECT_EQ(trace.buffers[0].rounded, Bytes(1024));
  EXPECT_EQ(trace.buffers[0].death, Tick(5));
  EXPECT_EQ(trace.values[trace.ops[1].first_value], (Value{BufferId(0), 4}));
}

TEST(Recorder, an_address_inside_a_buffer_names_it_until_it_dies) {
  Feed feed;
  const void* a = address_of(8);
  feed.recorder.on_alloc(a, Bytes(4096), Bytes(4096), StreamId(0));
  const std::array inside{use(address_of(9))};
  feed.recorder.on_op_end(feed.recorder.on_op_begin(), {.name = "x", .inputs = inside});
  feed.recorder.on_free(a);
  feed.recorder.on_alloc(address_of(9), Bytes(512), Bytes(512), StreamId(0));
  feed.recorder.on_op_end(feed.recorder.on_op_begin(), {.name = "x", .inputs = inside});
  const Trace trace = feed.recorder.snapshot();
  ASSERT_EQ(trace.buffers.size(), 2u);
  EXPECT_EQ(trace.values[0].buffer, BufferId(0));
  EXPECT_EQ(trace.values[1].buffer, BufferId(1));
}

TEST(Recorder, a_steady_snapshot_holds_both_windows_and_what_was_alive_before) {
  Feed feed;
  const void* parameter = feed.alloc(4096);
  const void* warm_up = feed.alloc(8192);
  const void* carried = feed.alloc(512);
  feed.recorder.on_mark(MarkSource::kOptimizer);
  feed.recorder.on_free(warm_up);  // dies in the first window: still matters to it
  for (int i = 0; i < 2; ++i) {
    const OpId op = feed.recorder.on_op_begin();
    feed.recorder.on_free(feed.alloc(1024));
    const void* next = feed.alloc(512);
    feed.recorder.on_free(carried);
    carried = next;
    const std::array inputs{use(parameter)};
    feed.recorder.on_op_end(op, {.name = "aten::step", .inputs = inputs});
    feed.recorder.on_mark(MarkSource::kOptimizer);
  }
  ASSERT_TRUE(feed.recorder.steady());
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  ASSERT_TRUE(trace.steady.has_value());
  EXPECT_EQ(trace.steady->previous_begin, Tick(0));
  EXPECT_EQ(trace.marks.size(), 3u);
  EXPECT_EQ(trace.marks[0].tick, trace.steady->previous_begin);
  EXPECT_EQ(trace.marks[1].tick, trace.steady->begin);
  EXPECT_EQ(trace.marks[2].tick, trace.steady->end);
  EXPECT_EQ(trace.buffers.size(), 3u + 4u);
  EXPECT_EQ(trace.buffers[0].death, kNever);
  EXPECT_EQ(trace.buffers[1].death, Tick(1));
  EXPECT_EQ(trace.ops.size(), 2u);
  EXPECT_EQ(trace.values[0].buffer, BufferId(0));
  EXPECT_EQ(fingerprint(trace, trace.steady->previous_begin, trace.steady->begin),
            fingerprint(trace, trace.steady->begin, trace.steady->end));
}

TEST(Recorder, windows_that_are_gone_leave_only_what_is_alive) {
  Feed feed(RecorderOptions{.max_period_marks = 1});
  const void* parameter = feed.alloc(4096);
  for (int i = 0; i < 50; ++i) {
    feed.play("ab");
    feed.alloc(512 * (10 + static_cast<std::uint64_t>(i)));  // a leak, and never steady
    feed.recorder.on_mark(MarkSource::kOptimizer);
  }
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  EXPECT_EQ(trace.marks.size(), 3u);
  EXPECT_EQ(trace.buffers.size(), 1u + 48u + 2u * 3u);
  feed.recorder.on_free(parameter);
  EXPECT_EQ(feed.recorder.snapshot().buffers[0].death, Tick(trace.end));
}

TEST(Recorder, forgets_old_iterations_before_it_drops_anything) {
  Feed feed(RecorderOptions{.max_events = 40});
  for (int i = 0; i < 20; ++i) feed.play("abcdefgh|");
  EXPECT_EQ(feed.recorder.dropped(), 0u);
  EXPECT_TRUE(feed.recorder.steady());
  EXPECT_TRUE(feed.recorder.snapshot().validate().ok());
}

TEST(Recorder, counts_what_the_bound_makes_it_drop_and_is_not_steady_then) {
  Feed feed(RecorderOptions{.max_events = 10});
  feed.play("abcdefgh|abcdefgh|");
  EXPECT_GT(feed.recorder.dropped(), 0u);
  EXPECT_FALSE(feed.recorder.steady());
  const Trace trace = feed.recorder.snapshot();
  EXPECT_EQ(trace.dropped, feed.recorder.dropped());
  EXPECT_TRUE(trace.validate().ok());
  feed.play("a|a|a|");
  EXPECT_TRUE(feed.recorder.steady());
  EXPECT_EQ(feed.recorder.snapshot().dropped, 0u) << "the windows it holds are whole";
}

TEST(Recorder, drops_ops_too) {
  Feed feed(RecorderOptions{.max_events = 1});
  const OpId op = feed.recorder.on_op_begin();
  const std::array inputs{use(address_of(1))};
  feed.recorder.on_op_end(op, {.name = "x", .inputs = inputs});
  EXPECT_EQ(feed.recorder.on_op_begin(), kNoOp);
  feed.recorder.on_op_end(kNoOp, {.name = "x"});
  EXPECT_EQ(feed.recorder.dropped(), 2u);
  EXPECT_TRUE(feed.recorder.snapshot().validate().ok());
}

TEST(Recorder, clear_keeps_only_what_is_alive) {
  Feed feed;
  const void* a = feed.alloc(512);
  feed.play("ab|ab|");
  const OpId op = feed.recorder.on_op_begin();
  feed.recorder.clear();
  feed.recorder.on_op_end(op, {.name = "begun before"});
  EXPECT_FALSE(feed.recorder.steady());
  const Trace trace = feed.recorder.snapshot();
  ASSERT_EQ(trace.buffers.size(), 1u);
  EXPECT_TRUE(trace.buffers[0].preexisting);
  EXPECT_TRUE(trace.ops.empty());
  feed.recorder.on_free(a);
  EXPECT_EQ(feed.recorder.live(), Bytes(0));
  feed.play("cd|cd|");
  EXPECT_TRUE(feed.recorder.steady());
}

// Random allocations, frees and marks against a plain list of all that ever happened.
TEST(Recorder, snapshots_agree_with_a_naive_record) {
  struct Known {
    std::uint64_t rounded;
    std::size_t born_in;  // segment
    bool dead = false;
    std::size_t died_in = 0;
  };
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Feed feed(RecorderOptions{.max_period_marks = 2});
    std::vector<Known> all;
    std::map<std::size_t, const void*> alive;
    std::size_t segment = 0;
    bool empty = true;
    for (int event = 0; event < 400; ++event) {
      const std::uint32_t dice = random() % 20;
      if (dice == 0) {
        ASSERT_EQ(feed.recorder.on_mark(MarkSource::kUser), !empty);
        segment += empty ? 0 : 1;
        empty = true;
      } else if (dice < 11 || alive.empty()) {
        const std::uint64_t bytes = 512 * (1 + random() % 1000);
        alive[all.size()] = feed.alloc(bytes);
        all.push_back({bytes, segment});
        empty = false;
      } else {
        const auto victim = std::next(alive.begin(), random() % alive.size());
        feed.recorder.on_free(victim->second);
        all[victim->first].dead = true;
        all[victim->first].died_in = segment;
        alive.erase(victim);
      }
    }
    ASSERT_FALSE(feed.recorder.steady());
    const Trace trace = feed.recorder.snapshot();
    ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
    const std::size_t first = segment < 4 ? 0 : segment - 4;
    std::vector<Known> expected;
    for (const Known& known : all) {
      if (!known.dead || known.died_in >= first) expected.push_back(known);
    }
    ASSERT_EQ(trace.buffers.size(), expected.size()) << "seed " << seed;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(trace.buffers[i].rounded, Bytes(expected[i].rounded));
      EXPECT_EQ(trace.buffers[i].preexisting, expected[i].born_in < first);
      EXPECT_EQ(trace.buffers[i].death != kNever, expected[i].dead);
    }
  }
}

TEST(Recorder, is_fed_from_many_threads_at_once) {
  Feed feed(RecorderOptions{.max_period_marks = 2, .max_events = 50'000});
  constexpr std::uint64_t kRounds = 4000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&feed, t] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const void* address = address_of(1 + t * kRounds + i % 100);
        const OpId op = feed.recorder.on_op_begin();
        feed.recorder.on_alloc(address, Bytes(512), Bytes(512), StreamId(0));
        feed.recorder.on_free_requested(address);
        feed.recorder.on_free_completed(address);
        const std::array inputs{use(address_of(99999))};
        feed.recorder.on_op_end(op, {.name = "aten::x", .inputs = inputs});
        if (t == 0 && i % 500 == 0) feed.recorder.on_mark(MarkSource::kOptimizer);
        if (t == 1 && i % 1000 == 0) {
          EXPECT_TRUE(feed.recorder.snapshot().validate().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = feed.recorder.snapshot();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.op == kNoOp) continue;
    EXPECT_EQ(trace.ops[buffer.op.value()].thread, buffer.thread);
    EXPECT_EQ(trace.ops[buffer.op.value()].workspace, Bytes(512));
  }
  EXPECT_EQ(feed.recorder.live(), Bytes(0));
}

TEST(Recorder, a_whole_snapshot_holds_what_came_before_the_steady_windows) {
  Feed feed({.from_first_allocation = true});
  feed.play("a|bc|bc|");
  ASSERT_TRUE(feed.recorder.steady());
  EXPECT_EQ(feed.recorder.snapshot().buffers.size(), 4u);
  EXPECT_FALSE(feed.recorder.snapshot().from_first_allocation);
  const Trace trace = feed.recorder.snapshot(Extent::kAll);
  ASSERT_EQ(trace.buffers.size(), 5u);
  EXPECT_TRUE(trace.from_first_allocation);
  EXPECT_TRUE(trace.validate().ok());
  ASSERT_TRUE(trace.steady);
  EXPECT_EQ(trace.steady->previous_begin, trace.marks[0].tick);
  EXPECT_EQ(trace.steady->begin, trace.marks[1].tick);
  EXPECT_EQ(trace.steady->end, trace.marks[2].tick);
}

TEST(Recorder, a_snapshot_is_not_from_the_first_allocation_once_something_was_forgotten) {
  Feed feed({.max_period_marks = 1, .from_first_allocation = true});
  feed.play("a|b|b|");
  EXPECT_FALSE(feed.recorder.snapshot(Extent::kAll).from_first_allocation);
  Feed late;
  late.play("b|b|");
  EXPECT_FALSE(late.recorder.snapshot(Extent::kAll).from_first_allocation);
}

}  // namespace
}  // namespace stowage::tracer::testing
