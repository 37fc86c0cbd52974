// The user's budget (STOWAGE_BUDGET): the most bytes of a device that the job may hold, as the user wrote it;
// and how much of the host's memory may help.
//
// Ways to write it: an amount ("12GiB", "500MB", "1000000"), a share of what the job itself takes at its peak
// without a budget ("50%"), a share of the device's memory ("80%device"), or "least": as little as the job
// can run in, found while it runs. "auto": no budget until the job has nearly filled the device, then what it
// can get there. "none" is no budget, and "" what the device has where the user chose nothing. Thread safety:
// a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace stowage::session {

class Budget {
 public:
  enum class Kind : std::uint8_t { kNone, kAuto, kBytes, kShareOfPeak, kShareOfDevice, kLeast };

  /// What parse() takes, for messages.
  static constexpr const char* kBounds =
      "an amount such as 12GiB, 500MB or a number of bytes; 50% of the job's own peak; 80%device (above 0, "
      "at most 100%); least; auto, CUDA's default: the device's memory, once it is nearly full; or none";

  /// No budget.
  Budget() = default;
  /// Nothing if `text` has none of the forms above.
  static std::optional<Budget> parse(std::string_view text);

  /// The user's "auto".
  static Budget automatic();

  /// The job is held to it from its first allocation on, or once its peak is known.
  [[nodiscard]] bool is_set() const { return kind_ != Kind::kNone && !is_auto(); }
  [[nodiscard]] bool is_auto() const { return kind_ == Kind::kAuto; }
  [[nodiscard]] Kind kind() const { return kind_; }
  /// The limit in bytes; of "least" the one to begin with. `whole`: the job's peak or the device's memory; an
  /// amount ignores it. Requires: is_set().
  [[nodiscard]] Bytes limit_of(Bytes whole) const;
  /// It goes by the job's own peak, which has to be known first.
  [[nodiscard]] bool needs_peak() const { return kind_ == Kind::kShareOfPeak || kind_ == Kind::kLeast; }
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Kind kind_ = Kind::kNone;
  Bytes bytes_{0};
  double percent_ = 0;
  std::string text_;
};

/// How much pinned host memory may hold what is offloaded from CUDA devices (STOWAGE_HOST_MEMORY), as the
/// user wrote it. "" leaves it to Stowage: half of what is free when the budget begins, divided among the
/// processes of this machine. "0" turns offloading from CUDA devices off.
class HostMemory {
 public:
  /// What parse() takes, for messages.
  static constexpr const char* kBounds = "an amount such as 64GiB, 500MB or a number of bytes; 0 for none";

  /// Nothing if `text` has none of the forms above.
  static std::optional<HostMemory> parse(std::string_view text) {
    HostMemory memory;
    memory.text_ = text;
    if (text.empty()) return memory;
    if (text == "0") {
      memory.bytes_ = Bytes(0);
      return memory;
    }
    const std::optional<Budget> amount = Budget::parse(text);
    if (!amount || amount->kind() != Budget::Kind::kBytes) return std::nullopt;
    memory.bytes_ = amount->limit_of(Bytes(0));
    return memory;
  }

  /// Nothing: the user left it open.
  [[nodiscard]] std::optional<Bytes> bytes() const { return bytes_; }
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::optional<Bytes> bytes_;
  std::string text_;
};

}  // namespace stowage::session
