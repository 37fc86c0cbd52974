#include "recompute/machine/machine.h"

#include "recompute/recipe/replay.h"

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kSweepEvery = 2048;                // ops
constexpr std::uint64_t kForgiveEvery = 16 * kSweepEvery;  // ops

}  // namespace

void Machine::set_options(const Options& wanted) {
  options = wanted;
  splits_ops.store(wanted.split_ops);
  reuses_gradients.store(wanted.reuse_gradients);
  encodes.store(wanted.encode);
  residency.set_poison(wanted.poison);
  residency.set_watch(wanted.verify ? &restores : nullptr);
  findings.tell_with(wanted.tell);
  forced.begin(wanted.forced);
  asks_source.store(wanted.verify || wanted.forced.tells);
  spoil_recipes_of(wanted.wrong_recipe);
}

bool Machine::thrashes() const {
  return thrash_guard.holds(residency.counts().replay_cost_ns, options.thrash_limit);
}

void Machine::tick(std::size_t made) {
  // More than were made, as some of those looked at live; and the more, the more there are, so that the dead
  // are never most of them for long. What is dead costs more memory while things are evicted.
  residency.bury_dead((residency.any_away() ? 2 + 2 * made : 1 + made) + book.size() / 256);
  // Counted from an iteration's first op, so that steady iterations are swept alike.
  const std::uint64_t ops = op_number - uses.iteration_began();
  if (ops == 0 || ops % kSweepEvery != 0) return;
  book.sweep();
  if (thrash_guard.age(op_number) >= kForgiveEvery) forgive_thrashing();
}

Machine& machine() {
  static auto* const instance = new Machine;
  return *instance;
}

}  // namespace stowage::recompute
