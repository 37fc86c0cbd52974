#include "session/switch/early_steps.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kStepsWithNewState = 2;
constexpr std::uint64_t kMostParted = 32;  // it may synchronise: of hundreds of optimizers only the first do

bool is_served(SessionState state) {
  return state == SessionState::kPlanned || state == SessionState::kOnline;
}

}  // namespace

void EarlySteps::begin(SessionState now, std::uint64_t marks, bool planned) {
  const bool first_steps = ++steps_ <= kStepsWithNewState;
  const bool early = now == SessionState::kRecording ? first_steps || marks < kStepsWithNewState
                                                     : first_steps && is_served(now);
  if (!early || planned) return;
  arena_.pause();
  part_state(/*begins=*/true);
  inside_.store(true, std::memory_order_release);
}

bool EarlySteps::end() {
  if (!inside_.exchange(false, std::memory_order_acq_rel)) return false;
  part_state(/*begins=*/false);
  return true;
}

void EarlySteps::part_state(bool begins) {
  if (steps_ <= kMostParted) port_.part_optimizer_state(begins);
}

}  // namespace stowage::session
