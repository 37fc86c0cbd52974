// The default process group as sessions see it: only where its store is one that can be shared.
#include "plugin/torch/process_group.h"

#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace stowage::plugin {
namespace {

using Value = session::RankStore::Value;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

StorePtr tcp_store() {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  return c10::make_intrusive<c10d::PrefixStore>("job",
                                                c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options));
}

/// The default group, for as long as it lives.
class Group {
 public:
  explicit Group(const StorePtr& store) : group_(c10::make_intrusive<c10d::ProcessGroup>(store, 1, 4)) {
    c10d::register_process_group("0", group_);
  }
  ~Group() { c10d::unregister_process_group("0"); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

 private:
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

TEST(ProcessGroup, ThereIsNoneUntilTheJobMakesIt) {
  EXPECT_FALSE(default_process_group());
  const Group group(tcp_store());
  ASSERT_TRUE(default_process_group());
  EXPECT_EQ(default_process_group()->rank, 1u);
  EXPECT_EQ(default_process_group()->size, 4u);
}

TEST(ProcessGroup, ItsStoreIsReachedByAConnectionOfItsOwn) {
  const StorePtr jobs = tcp_store();
  const Group group(jobs);
  auto connected = default_process_group()->connect();
  ASSERT_TRUE(connected.ok());
  session::RankStore& store = **connected;
  EXPECT_FALSE(store.get("plan")->has_value());
  const Value value{std::byte{0}, std::byte{255}, std::byte{7}};
  ASSERT_TRUE(store.set("plan", value).ok());
  EXPECT_EQ(**store.get("plan"), value);
  EXPECT_EQ(jobs->get("plan"), (std::vector<std::uint8_t>{0, 255, 7})) << "below the job's own prefix";
  ASSERT_TRUE(store.set("plan", {}).ok());
  EXPECT_EQ(**store.get("plan"), Value());
  EXPECT_EQ(*store.add("claims", 1), 1);
  EXPECT_EQ(*store.add("claims", 0), 1);
  EXPECT_EQ(*store.add("claims", 1), 2);
}

TEST(ProcessGroup, OtherStoresAreLeftAlone) {
  const Group group(c10::make_intrusive<c10d::PrefixStore>("job", c10::make_intrusive<c10d::HashStore>()));
  EXPECT_FALSE(default_process_group());
}

TEST(ProcessGroup, AConnectionIsRefusedOnceTheGroupIsGone) {
  std::optional<session::RankGroup> found;
  {
    const Group group(tcp_store());
    found = default_process_group();
  }
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->connect().ok());
  EXPECT_FALSE(default_process_group());
}

}  // namespace
}  // namespace stowage::plugin
