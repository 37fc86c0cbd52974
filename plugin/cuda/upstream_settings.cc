#include "plugin/cuda/upstream_settings.h"

#include <c10/core/AllocatorConfig.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace stowage::plugin {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

struct Before {
  std::mutex mutex;
  std::optional<std::string> settings;  ///< those to go back to; nothing while ours are not in force
};

Before& before() {
  static auto* const instance = new Before;
  return *instance;
}

/// What the user asked of PyTorch's allocator, by the variable that PyTorch reads first.
std::string user_configuration() {
  for (const char* variable : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    if (const char* value = std::getenv(variable)) return value;
  }
  return {};
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() ? other : one + "," + other;
}

}  // namespace

void prefer_expandable_segments(const Settings& settings) {
  constexpr std::size_t kMegabyte = 1u << 20;
  const std::string configured = user_configuration();
  if (settings.arena == ArenaBackend::kMalloc)
    return;  // for users of IPC, which expandable segments get in the way of
  if (configured.find("expandable_segments") != std::string::npos) return;
  const std::lock_guard lock(before().mutex);
  if (before().settings) return;
  std::string wanted = "expandable_segments:True";
  std::string undone = Config::use_expandable_segments() ? wanted : "expandable_segments:False";
  // Smaller pages than the usual 20 MiB: fewer bytes around what lasts; PyTorch takes nothing below 12.
  if (configured.find("large_segment_size_mb") == std::string::npos) {
    wanted += ",large_segment_size_mb:12";
    undone += ",large_segment_size_mb:" + std::to_string(Config::large_segment_size() / kMegabyte);
  }
  // The string replaces the one before in snapshots' metadata, so the user's part is repeated.
  c10::CachingAllocator::setAllocatorSettings(joined(configured, wanted));
  before().settings = joined(configured, undone);
}

bool restore_upstream_settings() {
  const std::lock_guard lock(before().mutex);
  if (!before().settings) return false;
  c10::CachingAllocator::setAllocatorSettings(*std::exchange(before().settings, std::nullopt));
  return true;
}

}  // namespace stowage::plugin
