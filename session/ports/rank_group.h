// The processes that train one model together, as far as a session needs them: how many there are, and a
// store of small values by key that all of them reach. plugin/torch/process_group.h finds the one of PyTorch.
//
// What another rank wrote is untrusted: it may be of another version, damaged, or for another job.
//
// Thread safety: a store belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace stowage::session {

/// Every call may take as long as the network lets it, and may throw: only ranks/store_thread.h calls it.
class RankStore {
 public:
  using Value = std::vector<std::byte>;
  virtual ~RankStore() = default;
  /// Replaces what is there.
  virtual Status set(const std::string& key, const Value& value) = 0;
  /// The value, or nothing if there is none yet; does not wait for one.
  virtual Result<std::optional<Value>> get(const std::string& key) = 0;
  /// Adds to the number of that key, which begins at 0, and returns the sum. No two ranks get the same one.
  virtual Result<std::int64_t> add(const std::string& key, std::int64_t amount) = 0;
};

struct RankGroup {
  std::uint64_t rank = 0;
  std::uint64_t size = 1;
  /// A connection of its own to the group's store, so that nobody else's wait holds it up. May take long.
  std::function<Result<std::unique_ptr<RankStore>>()> connect;
};

}  // namespace stowage::session
