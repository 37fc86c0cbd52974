#include "session/plans/cache_limit.h"

#include <algorithm>
#include <tuple>

#include "core/kept_schedule.h"

namespace stowage::session {

void limit_cache(const format::PrivateFolder& folder, std::uint64_t most_bytes, const std::string& newest) {
  using File = format::PrivateFolder::File;
  folder.remove_stale();
  std::vector<File> files = folder.files();
  std::erase_if(files, [](const File& file) { return !is_kept_name(file.name); });
  std::uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  // By name where the times are equal, so that all processes remove the same files.
  std::sort(files.begin(), files.end(), [&](const File& a, const File& b) {
    return std::tuple(a.name == newest, a.used_ns, a.name) < std::tuple(b.name == newest, b.used_ns, b.name);
  });
  for (const File& file : files) {
    if (bytes <= most_bytes) return;
    static_cast<void>(folder.remove(file.name));
    bytes -= file.bytes;
  }
}

}  // namespace stowage::session
