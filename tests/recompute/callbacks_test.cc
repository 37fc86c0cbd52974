// Buffers of other code: the example of docs/recompute.md, which spills to host memory, and the contract.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "recompute/evictable.h"
#include "recompute/recompute.h"

namespace stowage::recompute {
namespace {

// A cache in "device" memory (here: a block of its own) that spills to the host when the budget is short.
class SpillingCache {
 public:
  explicit SpillingCache(std::vector<char> content)
      : bytes_(content.size()), device_(new char[content.size()]) {
    std::memcpy(device_.get(), content.data(), bytes_);
    const stowage_evictable me{bytes_, 0, 1000, this, &SpillingCache::evict, &SpillingCache::restore, 0};
    id_ = stowage_evictable_add(&me);
  }
  ~SpillingCache() { stowage_evictable_remove(id_); }

  std::vector<char> read() {
    EXPECT_NE(stowage_evictable_use(id_), 0);
    std::vector<char> copy(device_.get(), device_.get() + bytes_);
    stowage_evictable_done(id_);
    return copy;
  }
  [[nodiscard]] bool spilled() const { return device_ == nullptr; }
  [[nodiscard]] std::int64_t id() const { return id_; }
  bool willing = true;

 private:
  static int evict(void* context) {
    auto& self = *static_cast<SpillingCache*>(context);
    if (!self.willing) return 0;
    self.host_.assign(self.device_.get(), self.device_.get() + self.bytes_);
    self.device_.reset();
    return 1;
  }
  static int restore(void* context) {
    auto& self = *static_cast<SpillingCache*>(context);
    if (!self.willing) return 0;
    self.device_.reset(new char[self.bytes_]);
    std::memcpy(self.device_.get(), self.host_.data(), self.bytes_);
    self.host_.clear();
    return 1;
  }

  std::size_t bytes_;
  std::unique_ptr<char[]> device_;
  std::vector<char> host_;
  std::int64_t id_ = -1;
};

class Callbacks : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Runtime::install({}).ok()); }
  void TearDown() override { Runtime::uninstall(); }
};

TEST_F(Callbacks, SpillAndComeBackWhole) {
  const std::vector<char> content(5000, 'x');
  SpillingCache cache(content);
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 0));
  EXPECT_TRUE(cache.spilled());
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 0)) << "nothing is left";
  EXPECT_EQ(cache.read(), content);
  EXPECT_FALSE(cache.spilled());
}

TEST_F(Callbacks, TheCheapestByteGoesFirst) {
  SpillingCache small(std::vector<char>(1000, 's'));
  SpillingCache large(std::vector<char>(9000, 'l'));
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 0));
  EXPECT_TRUE(large.spilled());
  EXPECT_FALSE(small.spilled());
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 0));
  EXPECT_TRUE(small.spilled());
}

TEST_F(Callbacks, WhatIsInUseOrOnAnotherDeviceStays) {
  SpillingCache cache(std::vector<char>(1000, 'c'));
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 1));
  ASSERT_NE(stowage_evictable_use(cache.id()), 0);
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 0));
  stowage_evictable_done(cache.id());
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 0));
}

struct OnDevice {
  explicit OnDevice(int index) {
    const auto evict = [](void* self) { return static_cast<OnDevice*>(self)->away = true, 1; };
    const auto restore = [](void* self) { return static_cast<OnDevice*>(self)->away = false, 1; };
    const stowage_evictable me{4096, 1, 1000, this, evict, restore, index};
    id = stowage_evictable_add(&me);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { stowage_evictable_remove(id); }
  std::int64_t id = -1;
  bool away = false;
};

TEST_F(Callbacks, RoomIsMadeOnTheDeviceThatIsShort) {
  OnDevice first(0);
  OnDevice second(1);
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 1, 2));
  EXPECT_EQ(Runtime::evictable(1, 0), Bytes(4096));
  EXPECT_EQ(Runtime::evictable(1), Bytes(8192));
  EXPECT_EQ(Runtime::evictable(0), Bytes(0));
  EXPECT_TRUE(Runtime::make_room(Bytes(8192), 1, 1));
  EXPECT_EQ(Runtime::evictable(1, 1), Bytes(0));
  EXPECT_TRUE(second.away);
  EXPECT_FALSE(first.away);
  const std::string why = Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(4096)}, 1, 0);
  EXPECT_NE(why.find(" 4 KiB evictable"), std::string::npos) << why;
  EXPECT_NE(
      Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(4096)}, 1, 1).find(" 0 KiB evictable"),
      std::string::npos);
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 1)) << "of any of that type";
  EXPECT_TRUE(first.away);
}

TEST_F(Callbacks, AnOwnerMayRefuse) {
  SpillingCache cache(std::vector<char>(1000, 'c'));
  cache.willing = false;
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 0));
  cache.willing = true;
  EXPECT_TRUE(Runtime::make_room(Bytes(1), 0));
  cache.willing = false;
  EXPECT_EQ(stowage_evictable_use(cache.id()), 0);
  cache.willing = true;
  EXPECT_NE(stowage_evictable_use(cache.id()), 0);
  stowage_evictable_done(cache.id());
}

TEST_F(Callbacks, AShortageNamesThem) {
  SpillingCache used(std::vector<char>(2048, 'u'));
  SpillingCache idle(std::vector<char>(5120, 'i'));
  ASSERT_NE(stowage_evictable_use(used.id()), 0);
  const std::string before = Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(8192)}, 0);
  EXPECT_NE(before.find("2 KiB in registered buffers"), std::string::npos) << before;
  EXPECT_NE(
      before.find("1 KiB in other libraries, recomputations under way, tensors that no op has used, and "
                  "rounding, 5 KiB evictable"),
      std::string::npos)
      << before;
  EXPECT_NE(before.find("A budget of 4 KiB would be enough"), std::string::npos) << before;
  const std::string holes =
      Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(8192), .limit = Bytes(8192)}, 0);
  EXPECT_NE(holes.find("A budget of 9 KiB would be enough"), std::string::npos) << holes;
  idle.willing = false;
  EXPECT_FALSE(Runtime::make_room(Bytes(1), 0));
  const std::string after = Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(8192)}, 0);
  EXPECT_NE(after.find("7 KiB in registered buffers"), std::string::npos) << after;
  EXPECT_NE(after.find(" 0 KiB evictable"), std::string::npos) << after;
  const std::string elsewhere = Runtime::explain_shortage({.wanted = Bytes(1024), .held = Bytes(8192)}, 1);
  EXPECT_EQ(elsewhere.find("registered buffers"), std::string::npos) << elsewhere;
  const Shortage planned{.wanted = Bytes(1024),
                         .held = Bytes(20480),
                         .idle_arena = Bytes(8192),
                         .cached = Bytes(3072),
                         .workspaces = Bytes(1 << 20)};
  const std::string parts = Runtime::explain_shortage(planned, 0);
  EXPECT_NE(
      parts.find(
          "8 KiB idle in the plan's arena, 3 KiB free in PyTorch's cache or lost to fragmentation, 7 KiB "
          "in registered buffers that their owners use, 2 KiB in cuBLAS workspaces, 0 KiB evictable"),
      std::string::npos)
      << "parts never exceed the whole: " << parts;
  stowage_evictable_done(used.id());
}

TEST_F(Callbacks, BadArguments) {
  stowage_evictable bad{};
  EXPECT_EQ(stowage_evictable_add(&bad), -1);
  EXPECT_EQ(stowage_evictable_add(nullptr), -1);
  EXPECT_EQ(stowage_evictable_use(123456), 0);
  stowage_evictable_done(123456);
  stowage_evictable_remove(123456);
}

}  // namespace
}  // namespace stowage::recompute
