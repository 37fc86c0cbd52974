#include "tests/session/busy_session.h"

#include <algorithm>

namespace stowage::session {

void* Blocks::allocate(std::uint64_t bytes, std::uint32_t stream) {
  if (void* const planned = session_.try_allocate(Bytes(bytes), StreamId(stream))) return planned;
  session_.before_upstream_alloc(Bytes(bytes), StreamId(stream));
  while (port_.counted && !port_.count.try_take(Bytes(bytes))) {
    if (!session_.make_room(Bytes(bytes))) return nullptr;
  }
  if (port_.counted) port_.count.settle(Bytes(bytes), Bytes(bytes));
  void* const address = port_.allocate(Bytes(bytes));
  session_.on_upstream_alloc(address, Bytes(bytes), StreamId(stream));
  return address;
}

void Blocks::make(std::uint64_t bytes, std::uint32_t stream) {
  auto* const address = static_cast<std::byte*>(allocate(bytes, stream));
  if (address == nullptr) return;
  const Block block{address, bytes, ++last_};
  for (std::uint64_t at = 0; at < bytes; at += kGranule.value())
    std::memcpy(address + at, &block.pattern, sizeof block.pattern);
  blocks_.push_back(block);
}

void Blocks::check(const Block& block) {
  for (std::uint64_t at = 0; at < block.bytes; at += kGranule.value()) {
    if (std::memcmp(block.address + at, &block.pattern, sizeof block.pattern) == 0) continue;
    ++spoiled_;
    return;
  }
}

void Blocks::drop(std::size_t at) {
  const Block block = blocks_.at(at);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
  check(block);
  if (session_.free(block.address)) return;
  port_.give_back(block.address);
  if (port_.counted) port_.count.give(Bytes(block.bytes));
}

void Blocks::drop_in_use() {
  while (!blocks_.empty()) {
    const Block last = blocks_.back();
    if (session_.record_stream(last.address, StreamId(1))) in_use_.push_back(last);
    drop();
  }
}

void Blocks::pass() {
  for (const Block& block : std::exchange(in_use_, {})) check(block);
  port_.pass_fences();
}

// The job leaves its plans as often as it likes, and is recorded for as long as it takes.
Settings BusySession::patient() {
  Settings settings;
  settings.plan_wait_ms = 60'000;
  settings.diverged_iterations = 2;
  settings.max_replans = settings.record_iterations = 1'000'000;
  return settings;
}

void BusySession::start(const Settings& settings) {
  session = std::make_unique<Session>(port, torch, settings);
  mine = std::make_unique<Blocks>(port, *session, 1);
}

void BusySession::iterate(int count, int kept) {
  const std::size_t before = mine->size();
  for (int i = 0; i < count; ++i) mine->make(kBlock + 4096 * static_cast<std::uint64_t>(i));
  const std::size_t stay = std::min(mine->size(), before + static_cast<std::size_t>(kept));
  while (mine->size() > stay) mine->drop();
  session->on_mark(MarkSource::kOptimizer);
}

// A job that is served without a plan rests between recordings, each time for twice as long: never for longer
// than it has already gone.
void BusySession::settle() {
  const int most = 40 + report()["iterations"].get<int>();
  for (int i = 0; i < most && session->state() != SessionState::kPlanned; ++i) iterate();
}

void BusySession::reach_plan() {
  settle();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  iterate();
}

void BusySession::beside(const std::vector<Step>& steps, const std::function<void()>& work) {
  constexpr int kLeast = 8;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    threads.emplace_back([&, i] {
      Blocks blocks(port, *session, i + 2);
      for (int times = 0; times < kLeast || !done.load(); ++times) steps[i](blocks);
      blocks.drop_all();
    });
  }
  work();
  done.store(true);
  for (std::thread& thread : threads) thread.join();
}

void BusySession::expect_nothing_left() {
  mine->drop_all();
  port.capturing = false;
  port.pass_fences();
  session->stop();
  session->on_mark(MarkSource::kUser);
  EXPECT_EQ(session->arena_live_bytes(), Bytes(0));
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
  EXPECT_FALSE(session->needs_marks());
  EXPECT_EQ(port.upstream_use().allocated, Bytes(0));
  const allocator::ArenaUse use = port.counters.use();
  EXPECT_GT(use.blocks[0].allocated, 0);
  EXPECT_EQ(use.blocks[0].allocated, use.blocks[0].freed);
  EXPECT_EQ(use.active_blocks[0].allocated, use.active_blocks[0].freed);
  EXPECT_EQ(use.requested_bytes[0].current, 0);
  EXPECT_EQ(port.count.held(), Bytes(0));
  mine = nullptr;
}

void BusySession::use_planned_sizes(Blocks& blocks) {
  blocks.make(kBlock + 4096 * (blocks.random() % 12));
  if (blocks.size() > 4) blocks.drop(blocks.random() % blocks.size());
}

void BusySession::use_other_sizes(Blocks& blocks) {
  for (int i = 0; i < 3; ++i) blocks.make(blocks.any_size(600, 200), static_cast<std::uint32_t>(i));
  blocks.drop_all();
}

void BusySession::use_on_two_streams(Blocks& blocks) {
  for (std::uint64_t i = 0; i < 3; ++i) blocks.make(kBlock + 4096 * i);
  blocks.drop_in_use();
  use_other_sizes(blocks);
  blocks.pass();
}

}  // namespace stowage::session
