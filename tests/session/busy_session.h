// A session that several threads use at once, and what these do with it.
//
// Each thread marks its blocks with a pattern that no other block has, once in every granule, and looks for
// it before it frees them: wherever two live blocks overlapped, one of them has lost it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/layout/arena_counters.h"
#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {

/// Counts the arenas' blocks and what it hears of them. What is given back of an arena is spoiled.
struct BusyPort : FakePort {
  allocator::ArenaCounters* arena_counters() override { return &counters; }
  bool fence_passed(std::uint64_t fence) override { return may_wait() && FakePort::fence_passed(fence); }
  void on_block(BlockEvent event, void*, Bytes, StreamId) override {
    ++heard.at(static_cast<std::size_t>(event));
  }
  Bytes decommit(void* address, Bytes bytes) override {
    if (!on_touch) return Bytes(0);
    std::memset(address, 0xDD, bytes.value());
    return bytes;
  }
  allocator::ArenaCounters counters;
  std::array<std::atomic<std::int64_t>, 3> heard{};
};

/// The blocks of one thread. Destroyed empty.
class Blocks {
 public:
  /// `number`: of the thread, from 1.
  Blocks(BusyPort& port, Session& session, std::uint64_t number)
      : random(static_cast<std::uint32_t>(number)), port_(port), session_(session), last_(number << 40u) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { EXPECT_EQ(spoiled_, 0) << "two blocks overlapped, or memory in use was given back"; }

  /// One more block. Without effect where the budget has no room.
  void make(std::uint64_t bytes, std::uint32_t stream = 0);
  /// Frees the block that was made last, or another.
  void drop() { drop(blocks_.size() - 1); }
  void drop(std::size_t at);
  void drop_all() {
    while (!blocks_.empty()) drop();
  }
  /// Stream 1 uses them all, and they are freed. Nobody else may let fences pass until pass().
  void drop_in_use();
  /// What drop_in_use() freed is used no longer.
  void pass();
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] void* address(std::size_t at) const { return blocks_.at(at).address; }
  /// From `least` on, `choices` different sizes.
  std::uint64_t any_size(std::uint64_t least, std::uint64_t choices) {
    return least + 512 * (random() % choices);
  }

  std::minstd_rand random;

 private:
  struct Block {
    std::byte* address;
    std::uint64_t bytes;
    std::uint64_t pattern;
  };
  void* allocate(std::uint64_t bytes, std::uint32_t stream);
  void check(const Block& block);

  BusyPort& port_;
  Session& session_;
  std::uint64_t last_;
  std::vector<Block> blocks_;
  std::vector<Block> in_use_;  ///< of the arena, freed, and read by stream 1
  int spoiled_ = 0;
};

struct BusySession : testing::Test {
  using Step = std::function<void(Blocks&)>;

  static Settings patient();
  void start(const Settings& settings = patient());
  /// An iteration of `count` blocks, of which the first `kept` live on.
  void iterate(int count = 12, int kept = 0);
  /// Iterations with nobody else about, until the job is planned or will hardly be.
  void settle();
  /// The same, and it is planned.
  void reach_plan();
  /// `work` in this thread, and beside it a thread for each of `steps`, which repeats it till `work` is done.
  void beside(const std::vector<Step>& steps, const std::function<void()>& work);
  /// Stops. All is given back then.
  void expect_nothing_left();
  nlohmann::json report() { return nlohmann::json::parse(session->report_json()); }

  // What other threads do.
  static void use_planned_sizes(Blocks& mine);
  static void use_other_sizes(Blocks& mine);
  static void use_on_two_streams(Blocks& mine);

  static constexpr std::uint64_t kBlock = std::uint64_t{1} << 16;
  BusyPort port;
  FakeTorch torch;
  std::unique_ptr<Session> session;
  std::unique_ptr<Blocks> mine;  ///< of the thread that trains
};

}  // namespace stowage::session
