// When the storages that one iteration made were used: by their order, since the next iteration makes the
// same ones in the same order. What it made in another order has other sizes sooner or later; then nothing is
// said.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace stowage::recompute {

class MadeUses {
 public:
  /// The storage that was made as number `nth` (from 0) and has `bytes` is used by the iteration's op `op`.
  /// Ops come in order.
  void note(std::size_t nth, std::uint64_t bytes, std::uint64_t op) {
    if (nth >= kMost || uses_.size() >= kMost) return;
    if (nth >= lives_.size()) lives_.resize(nth + 1);
    Life& life = lives_[nth];
    life.bytes = bytes;
    const auto place = static_cast<std::uint32_t>(uses_.size());
    (life.first == kNone ? life.first : uses_[life.last].next) = place;
    life.last = place;
    uses_.push_back({op, kNone});
  }
  /// Was a storage of these bytes made as number `nth`?
  [[nodiscard]] bool knows(std::size_t nth, std::uint64_t bytes) const {
    return nth < lives_.size() && lives_[nth].first != kNone && lives_[nth].bytes == bytes;
  }
  /// The first op behind `op` that uses it; nullopt: none does. Requires: it is known.
  [[nodiscard]] std::optional<std::uint64_t> next_after(std::size_t nth, std::uint64_t op) const {
    for (std::uint32_t at = lives_[nth].first; at != kNone; at = uses_[at].next) {
      if (uses_[at].op > op) return uses_[at].op;
    }
    return std::nullopt;
  }
  /// The last op that uses it. Requires: it is known.
  [[nodiscard]] std::uint64_t last(std::size_t nth) const { return uses_[lives_[nth].last].op; }
  void clear() {
    lives_.clear();
    uses_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kMost = 1u << 22;  // beyond, a job has no iterations

  struct Use {
    std::uint64_t op;
    std::uint32_t next;  ///< of the same storage
  };
  struct Life {
    std::uint64_t bytes = 0;
    std::uint32_t first = kNone, last = kNone;  ///< of uses_
  };
  std::vector<Life> lives_;
  std::vector<Use> uses_;
};

}  // namespace stowage::recompute
