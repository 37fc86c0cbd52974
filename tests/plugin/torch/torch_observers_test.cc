// What sessions hear of torch, and that torch pays nothing for it once no session listens.
#include "plugin/torch/torch_observers.h"

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/session/fake_port.h"

namespace stowage::plugin {
namespace {

bool is_observed(at::RecordScope scope) { return at::getStepCallbacksUnlessEmpty(scope).has_value(); }

// One iteration that allocates `count` times, with an optimizer step as torch.optim tells of it.
void iterate(FakeJob& job, int count) {
  std::vector<void*> live;
  for (int i = 0; i < count; ++i) live.push_back(job.allocate(1000u * static_cast<unsigned>(i + 1)));
  for (void* address : live) job.free(address);
  at::RecordFunction guard(at::RecordScope::USER_SCOPE);
  if (guard.isActive()) guard.before("Optimizer.step#AdamW.step");
}

TEST(TorchObservers, LeaveTorchAloneOnceNoSessionListens) {
  observe_torch();
  FakePort port;
  Settings settings;
  settings.record_iterations = 4;
  settings.plan_wait_ms = 60'000;
  Session first(port, settings);
  FakeJob job(port, first);
  EXPECT_TRUE(is_observed(at::RecordScope::USER_SCOPE));
  for (int i = 0; i < 4; ++i) iterate(job, 3 + i);
  EXPECT_EQ(first.state(), SessionState::kOff);
  EXPECT_FALSE(is_observed(at::RecordScope::USER_SCOPE));
  EXPECT_FALSE(is_observed(at::RecordScope::FUNCTION));

  Session second(port, settings);  // and it hears of steps again
  FakeJob next(port, second);
  for (int i = 0; i < 2; ++i) iterate(next, 3);
  EXPECT_TRUE(is_observed(at::RecordScope::FUNCTION));
  iterate(next, 3);
  EXPECT_EQ(second.state(), SessionState::kPlanned);
  EXPECT_FALSE(is_observed(at::RecordScope::FUNCTION));
  EXPECT_TRUE(is_observed(at::RecordScope::USER_SCOPE));
}

}  // namespace
}  // namespace stowage::plugin
