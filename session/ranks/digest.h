// A 128-bit hash that is the same in every process: the name under which ranks find each other's work.
//
// Two lanes of mixed words. It is for names, not for proofs: what is found under a name is checked all the
// same. Thread safety: a value.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/support/mix.h"

namespace stowage::session {

class Digest {
 public:
  void add(std::uint64_t word) {
    first_ = mix((first_ ^ word) + kGoldenGamma);
    second_ = mix(second_ * kOdd + mix(word + kOdd));
  }
  /// Its length keeps neighbours apart.
  void add(std::string_view text) {
    add(text.size());
    for (const char letter : text) add(static_cast<unsigned char>(letter));
  }
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string text() const {
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(first_),
                  static_cast<unsigned long long>(second_));
    return digits;
  }

 private:
  static constexpr std::uint64_t kOdd = 0xd6e8feb86659fd93u;
  std::uint64_t first_ = kGoldenGamma;
  std::uint64_t second_ = kOdd;
};

}  // namespace stowage::session
