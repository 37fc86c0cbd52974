// A session on a device whose upstream keeps what is freed, as PyTorch's allocators do.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "plugin/session.h"
#include "tests/plugin/fake_port.h"

namespace stowage::plugin {

struct CachingSessionTest : testing::Test {
  void SetUp() override {
    port.caches = true;
    Settings settings;
    settings.plan_wait_ms = 60'000;
    session = std::make_unique<Session>(port, settings);
    job = std::make_unique<FakeJob>(port, *session);
  }

  FakePort port;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

}  // namespace stowage::plugin
