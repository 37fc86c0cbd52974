// The user's budget (STOWAGE_BUDGET): the most bytes of a device that the job may hold, as the user wrote it.
//
// Three ways to write it: an amount ("12GiB", "500MB", "1000000"), a share of what the job itself takes at
// its peak without a budget ("50%"), or a share of the device's memory ("80%device"). "" is no budget. Thread
// safety: a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace stowage::session {

class Budget {
 public:
  enum class Kind : std::uint8_t { kNone, kBytes, kShareOfPeak, kShareOfDevice };

  /// What parse() takes, for messages.
  static constexpr const char* kBounds =
      "an amount such as 12GiB, 500MB or a number of bytes; 50% of the job's own peak; 80%device (above 0, "
      "at most 100%)";

  /// No budget.
  Budget() = default;
  /// Nothing if `text` has none of the forms above.
  static std::optional<Budget> parse(std::string_view text);

  [[nodiscard]] bool is_set() const { return kind_ != Kind::kNone; }
  [[nodiscard]] Kind kind() const { return kind_; }
  /// The limit in bytes. `whole`: the job's peak or the device's memory; an amount ignores it. Requires:
  /// is_set().
  [[nodiscard]] Bytes limit_of(Bytes whole) const;
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Kind kind_ = Kind::kNone;
  Bytes bytes_{0};
  double percent_ = 0;
  std::string text_;
};

}  // namespace stowage::session
