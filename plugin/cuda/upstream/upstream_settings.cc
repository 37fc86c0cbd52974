#include "plugin/cuda/upstream/upstream_settings.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace stowage::plugin {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

constexpr const char* kExpandable = "expandable_segments";
constexpr const char* kPage = "large_segment_size_mb";

/// Our settings, while they are in force.
struct Change {
  std::string made;    ///< appended to the user's settings
  std::string undone;  ///< what undoes it
};

struct Before {
  std::mutex mutex;
  std::optional<Change> change;
  std::atomic<bool> in_force{false};
};

Before& before() {
  static auto* const instance = new Before;
  return *instance;
}

bool names(const std::string& settings, const char* key) { return settings.find(key) != std::string::npos; }

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "," + other;
}

std::string setting(const char* key, const std::string& value) { return std::string(key) + ":" + value; }

Change change_beside(const std::string& users) {
  constexpr std::size_t kMegabyte = 1u << 20;
  Change change{setting(kExpandable, "True"), setting(kExpandable, "False")};
  // Smaller pages than the usual 20 MiB waste less around long-lived blocks; PyTorch's minimum is 12.
  if (names(users, kPage)) return change;
  change.made += "," + setting(kPage, "12");
  change.undone += "," + setting(kPage, std::to_string(Config::large_segment_size() / kMegabyte));
  return change;
}

/// The user's part of the settings that were made last, at run time or by environment.
std::string users_part(const std::string& ours) {
  std::string settings = c10::CachingAllocator::getAllocatorSettings();
  if (!settings.ends_with(ours)) return settings;  // the user's own, made since
  settings.resize(settings.size() - ours.size());
  if (settings.ends_with(',')) settings.pop_back();
  return settings;
}

/// The part of `undone` that the user has not set since.
std::string still_undone(const std::string& undone, const std::string& users) {
  std::string left;
  for (std::size_t begin = 0; begin < undone.size();) {
    const std::size_t end = std::min(undone.find(',', begin), undone.size());
    const std::string one = undone.substr(begin, end - begin);
    if (!names(users, one.substr(0, one.find(':')).c_str())) left = joined(left, one);
    begin = end + 1;
  }
  return left;
}

}  // namespace

// Each call sets all settings: those that the string does not name get their defaults, except our two. So
// every string repeats the user's part.
void prefer_expandable_segments(const session::Settings& settings) {
  if (settings.arena == session::ArenaBackend::kMalloc)
    return;  // for users of IPC, which expandable segments hinder
  const std::lock_guard lock(before().mutex);
  if (before().change) return;
  const std::string users = c10::CachingAllocator::getAllocatorSettings();
  if (names(users, kExpandable) || Config::use_expandable_segments()) return;
  Change change = change_beside(users);
  c10::CachingAllocator::setAllocatorSettings(joined(users, change.made));
  before().change = std::move(change);
  before().in_force.store(true, std::memory_order_release);
}

bool expandable_segments_are_ours() noexcept { return before().in_force.load(std::memory_order_acquire); }

Bytes page_slack() {
  constexpr std::uint64_t kChecked = std::uint64_t{2} << 20;  // what upstream rounds large requests up to
  if (!Config::use_expandable_segments()) return Bytes(0);
  return Bytes(std::max<std::uint64_t>(Config::large_segment_size(), kChecked) - kChecked);
}

bool restore_upstream_settings() {
  const std::lock_guard lock(before().mutex);
  if (!before().change) return false;
  const Change change = *std::exchange(before().change, std::nullopt);
  before().in_force.store(false, std::memory_order_release);
  const std::string users = users_part(change.made);
  c10::CachingAllocator::setAllocatorSettings(joined(users, still_undone(change.undone, users)));
  c10::CachingAllocator::setAllocatorSettings(users);  // so that snapshots show the user's own string
  return true;
}

}  // namespace stowage::plugin
