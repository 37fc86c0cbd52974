// An arena on host memory under a budget that is held with a fake runtime, without a session.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "session/facts/session_facts.h"
#include "tests/session/arena/arena_on_host.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {

struct BudgetOnHost : ArenaOnHost {
  /// Holds the device to `limit` bytes. `on_touch`: an arena's memory is taken when it is first touched.
  void hold(std::uint64_t limit, bool on_touch = true) {
    port.counted = true;
    port.on_touch = on_touch;
    budget = std::make_unique<BudgetController>(*Budget::parse(std::to_string(limit)), &port.count, torch,
                                                Device{}, Bytes(0), std::chrono::minutes(1));
    make();
    budget->begin(/*last_call=*/true);
    ASSERT_TRUE(torch.installed);
  }

  FakeTorch torch;
  SessionFacts facts;
};

}  // namespace stowage::session
