#include "recompute/machine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kSweepEvery = 2048;             // ops
constexpr std::uint64_t kGuardFloorNs = 2'000'000'000;  // recomputation below this is never thrashing

std::uint64_t present_environment() {
  const at::Context& context = at::globalContext();
  std::uint64_t mark = static_cast<std::uint64_t>(at::get_num_threads());
  const auto add = [&mark](std::uint64_t value) { mark = mark * 31 + value; };
  add(context.deterministicAlgorithms());
  add(context.deterministicCuDNN());
  add(context.benchmarkCuDNN());
  add(context.userEnabledMkldnn());
  add(static_cast<std::uint64_t>(context.float32MatmulPrecision()));
  add(static_cast<std::uint64_t>(c10::get_default_dtype_as_scalartype()));
  return mark;
}

}  // namespace

bool Machine::thrashes() const {
  const std::uint64_t replay_ns = residency.counts().replay_ns - window_replay_ns;
  return replay_ns > kGuardFloorNs &&
         static_cast<double>(replay_ns) > options.thrash_limit * static_cast<double>(window_ops_ns);
}

void Machine::tick() {
  if (op_number % kSweepEvery != 0 || replaying_here() > 0) return;
  residency.forget_dead();
  book.sweep();
  constexpr std::uint64_t kWindow = 16;  // sweeps
  if (op_number % (kSweepEvery * kWindow) != 0) return;
  window_ops_ns = 0;
  window_replay_ns = residency.counts().replay_ns;
}

void Machine::check_environment() {
  const std::uint64_t present = present_environment();
  if (present == environment) return;
  residency.restore_all();
  residency.forget_dead();
  book.forget_history();
  environment = present;
}

Machine& machine() {
  static auto* const instance = new Machine;
  return *instance;
}

int& opaque_depth() noexcept {
  thread_local int depth = 0;
  return depth;
}

}  // namespace stowage::recompute
