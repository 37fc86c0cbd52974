// Which evictions STOWAGE_EVICT forces: "forced:SEED" all that the seed chooses, "forced:SEED:FIRST-LAST"
// only those with these numbers, both included. "" forces none. docs/debugging.md says what that is for.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::session {

class ForcedRange {
 public:
  /// What parse() takes, for messages.
  static constexpr const char* kBounds =
      "forced:SEED or forced:SEED:FIRST-LAST, such as forced:1 or forced:1:200-300 (counted from 1)";

  /// None.
  ForcedRange() = default;
  /// Nothing if `text` has none of the forms above.
  static std::optional<ForcedRange> parse(std::string_view text);

  [[nodiscard]] bool is_set() const { return !text_.empty(); }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  /// A range was given.
  [[nodiscard]] bool is_part() const { return part_; }
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t first_ = 1;
  std::uint64_t last_ = std::numeric_limits<std::uint64_t>::max();
  bool part_ = false;
  std::string text_;
};

}  // namespace stowage::session
