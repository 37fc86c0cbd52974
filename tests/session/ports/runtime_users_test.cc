// The first user installs the runtime behind Python's guards, the last takes it out; what fails leaves
// nothing.
#include "session/ports/runtime_users.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "session/ports/torch_port.h"

namespace stowage::session {
namespace {

std::string done;          // letters of what was done, in order
bool guards_fail = false;  // the placer is a C function and knows no object

int place_guards(int place) {
  done += std::to_string(place);
  return guards_fail ? 1 : 0;
}

class RuntimeUsersTest : public ::testing::Test {
 protected:
  RuntimeUsersTest() {
    done.clear();
    guards_fail = false;
    users_.set_guard_placer(&place_guards);
  }
  Status install() {
    done += 'i';
    if (refused_) return Error{ErrorCode::kUnsupported, "no address space is left"};
    return {};
  }
  void uninstall() {
    done += 'u';
    if (stuck_) throw std::runtime_error("no memory to bring all back");
  }

  bool refused_ = false, stuck_ = false;
  RuntimeUsers users_{[this] { return install(); }, [this] { uninstall(); }};
};

TEST_F(RuntimeUsersTest, TheFirstInstallsBehindTheGuardsAndTheLastTakesItOut) {
  EXPECT_TRUE(users_.begin().ok());
  EXPECT_EQ(done, "1i2");
  EXPECT_TRUE(users_.begin().ok());
  EXPECT_EQ(done, "1i212");
  users_.end();
  EXPECT_EQ(done, "1i2120");
  users_.end();
  EXPECT_EQ(done, "1i2120u0");
}

TEST_F(RuntimeUsersTest, HearsOfWhatIsThereWhereItBeginsInTheMidst) {
  ASSERT_TRUE(users_.begin().ok());
  users_.tell_present();
  EXPECT_EQ(done, "1i23");
}

TEST_F(RuntimeUsersTest, WhereItCannotBeInstalledTheGuardsGoAgain) {
  refused_ = true;
  EXPECT_EQ(users_.begin().error().message, "no address space is left");
  EXPECT_EQ(done, "1i0");
  refused_ = false;
  EXPECT_TRUE(users_.begin().ok());
}

TEST_F(RuntimeUsersTest, WithoutGuardsNothingIsInstalled) {
  guards_fail = true;
  EXPECT_FALSE(users_.begin().ok());
  EXPECT_EQ(done, "1");
  users_.set_guard_placer(nullptr);
  EXPECT_FALSE(users_.guards_are_known());
  EXPECT_FALSE(users_.begin().ok());
  EXPECT_EQ(done, "1");
}

TEST_F(RuntimeUsersTest, AUserWhoCannotBeDoneWithoutItStillHasIt) {
  ASSERT_TRUE(users_.begin().ok());
  stuck_ = true;
  EXPECT_THROW(users_.end(), std::runtime_error);
  stuck_ = false;
  done.clear();
  users_.end();
  EXPECT_EQ(done, "u0");
}

TEST(NoTorch, HasNoRuntimeAndMakesNoRoom) {
  TorchPort& none = no_torch();
  EXPECT_FALSE(none.guards_are_known());
  EXPECT_FALSE(none.begin_rescue().ok());
  EXPECT_FALSE(none.make_room(Bytes(1), Device{}));
  EXPECT_FALSE(none.bytes_away().has_value());
  EXPECT_FALSE(none.take_log().has_value());
}

}  // namespace
}  // namespace stowage::session
