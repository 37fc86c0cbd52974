#include "tracer/observers/factory_ops.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string_view>

namespace stowage::tracer {
namespace {

// Not empty and empty_like: arithmetic makes its results with them.
constexpr std::array<std::string_view, 10> kFactories{
    "aten::clone",     "aten::full", "aten::full_like", "aten::new_full", "aten::new_ones",
    "aten::new_zeros", "aten::ones", "aten::ones_like", "aten::zeros",    "aten::zeros_like"};

struct Inside final : at::ObserverContext {};

thread_local int depth = 0;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& op) {
  if (std::find(kFactories.begin(), kFactories.end(), op.name()) == kFactories.end()) return nullptr;
  ++depth;
  return std::make_unique<Inside>();
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr) --depth;
}

struct Watch {
  std::mutex mutex;
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  bool on = false;
};

Watch& watch() {
  static auto* const instance = new Watch;
  return *instance;
}

}  // namespace

// Added once and never removed, since removal must not race with threads that run ops.
void watch_factory_ops(bool wanted) {
  Watch& global = watch();
  const std::lock_guard<std::mutex> lock(global.mutex);
  if (wanted == global.on) return;
  global.on = wanted;
  if (!wanted) return at::disableCallback(global.handle);
  if (global.handle != at::INVALID_CALLBACK_HANDLE) return at::reenableCallback(global.handle);
  global.handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&on_begin, &on_end).scopes({at::RecordScope::FUNCTION}));
}

bool in_factory_op() noexcept { return depth > 0; }

}  // namespace stowage::tracer
