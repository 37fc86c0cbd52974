// The latest ops of an iteration, compared with places of a known sequence: whether that goes on there.
//
// Thread safety: none; the caller's. It knows nothing of torch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::recompute {

class RecentOps {
 public:
  static constexpr std::size_t kMost = 8;  ///< ops that tell a place

  /// An op of `shape` begins; `made`: buffers that ops made before it.
  void note(std::uint64_t shape, std::size_t made) {
    if (ops_.size() == kMost) ops_.erase(ops_.begin());
    ops_.push_back({shape, made});
  }
  void clear() { ops_.clear(); }
  /// Buffers that there were when the first of them began. Requires: one was noted.
  [[nodiscard]] std::size_t made_before() const { return ops_.front().made; }
  /// They are `known`[`from`] to the kMost-th from there.
  [[nodiscard]] bool are_at(const std::vector<std::uint64_t>& known, std::size_t from) const {
    return ops_.size() == kMost && from + kMost <= known.size() &&
           std::equal(ops_.begin(), ops_.end(), known.begin() + static_cast<std::ptrdiff_t>(from),
                      [](const Op& op, std::uint64_t shape) { return op.shape == shape; });
  }

 private:
  struct Op {
    std::uint64_t shape;
    std::size_t made;
  };
  std::vector<Op> ops_;  ///< oldest first
};

}  // namespace stowage::recompute
