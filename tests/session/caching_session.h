// A session on a device whose upstream keeps what is freed, as PyTorch's allocators do.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "session/session.h"
#include "tests/session/fake_port.h"

namespace stowage::session {

struct CachingSessionTest : testing::Test {
  void SetUp() override {
    port.caches = true;
    restart({});
  }
  void restart(Settings settings, std::unique_ptr<PlanSource> plans = nullptr) {
    settings.plan_wait_ms = 60'000;
    session = nullptr;  // one at a time
    session = std::make_unique<Session>(port, no_torch(), settings, std::move(plans));
    job = std::make_unique<FakeJob>(port, *session);
  }

  FakePort port;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

}  // namespace stowage::session
