// The latest ops of an iteration, compared with places of a known sequence: whether it goes on there.
//
// Thread safety: none; the caller's. It knows nothing of torch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::recompute {

/// An op that began.
struct BegunOp {
  std::uint64_t shape;
  std::size_t made;  ///< buffers that ops made before it
};

/// The last `count` of `ops` have the shapes of as many of `known` from `from` on. False where there are
/// fewer.
inline bool end_as(const std::vector<BegunOp>& ops, std::size_t count,
                   const std::vector<std::uint64_t>& known, std::size_t from) {
  return ops.size() >= count && from + count <= known.size() &&
         std::equal(ops.end() - static_cast<std::ptrdiff_t>(count), ops.end(),
                    known.begin() + static_cast<std::ptrdiff_t>(from),
                    [](const BegunOp& op, std::uint64_t shape) { return op.shape == shape; });
}

class RecentOps {
 public:
  static constexpr std::size_t kMost = 8;  ///< ops that tell a place

  void note(const BegunOp& op) {
    if (ops_.size() == kMost) ops_.erase(ops_.begin());
    ops_.push_back(op);
  }
  void clear() { ops_.clear(); }
  /// Buffers that there were when the first of them began. Requires: one was noted.
  [[nodiscard]] std::size_t made_before() const { return ops_.front().made; }
  /// They are `known`[`from`] to the kMost-th from there.
  [[nodiscard]] bool are_at(const std::vector<std::uint64_t>& known, std::size_t from) const {
    return end_as(ops_, kMost, known, from);
  }

 private:
  std::vector<BegunOp> ops_;  ///< oldest first
};

}  // namespace stowage::recompute
