#include "plugin/torch/debugging.h"

#include <array>
#include <exception>
#include <string>
#include <utility>

#include "recompute/recompute.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

using recompute::Runtime;

// Ops between forced evictions, by seed: short distances fail early, long ones show effects over many ops.
constexpr std::array<std::uint32_t, 5> kEvery{3, 1, 7, 20, 2};

recompute::Options options_of(const session::Settings& settings) {
  recompute::Options options;
  options.split_ops = settings.split_ops;
  options.reuse_gradients = settings.reuse_gradients;
  options.encode = settings.encode;
  options.verify = settings.verify;
  options.wrong_recipe = settings.wrong_recipe;
  options.tell = [](const std::string& text, bool wrong) {
    wrong ? session::warn(text) : session::note(1, text);
  };
  if (!settings.evict.is_set()) return options;
  options.poison = true;
  options.forced.every = kEvery[settings.evict.seed() % kEvery.size()];
  options.forced.seed = settings.evict.seed();
  options.forced.first = settings.evict.first();
  options.forced.last = settings.evict.last();
  options.forced.offloads = true;
  options.forced.tells = settings.verbose > 0;
  return options;
}

void tell(const RuntimeCounters& counts) {
  const std::string text = "verified " + std::to_string(counts.verified) + " recipes at once and " +
                           std::to_string(counts.compared) + " restored tensors: ";
  if (counts.wrong == 0) return session::note(0, text + "all have the same bits");
  session::warn(text + std::to_string(counts.wrong) + " have other bits");
}

}  // namespace

recompute::Options Debugging::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Debugging::ask(const session::Settings& settings) {
  const std::lock_guard lock(mutex_);
  options_ = options_of(settings);
  wanted_ = settings.verify || settings.evict.is_set();
}

void Debugging::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_ || on_.load() || !users_.guards_are_known()) return;
    wanted_ = false;
  }
  const bool there = Runtime::installed();
  Status begun = users_.begin();
  if (begun && there) begun = Runtime::install(options());  // for a budget, with other options
  on_.store(begun.ok());
  if (!begun)
    session::warn(begun.error().message + "; nothing is verified, and nothing evicted for debugging");
}

void Debugging::end() noexcept try {
  if (!on_.exchange(false)) return;
  const RuntimeCounters counts = Runtime::counters();
  if (options().verify) tell(counts);
  users_.end();
} catch (const std::exception& error) {
  session::warn(std::string("debugging ends, but not every evicted tensor could be brought back: ") +
                error.what());
}

}  // namespace stowage::plugin
