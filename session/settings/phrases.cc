#include "session/settings/phrases.h"

#include <array>
#include <cstdio>

namespace stowage::session {

std::string in_mib(Bytes bytes) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  return std::to_string((bytes.value() + kMib / 2) / kMib) + " MiB";
}

std::string in_ms(std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f ms", static_cast<double>(ns) / 1e6);
  return text.data();
}

std::string ordinal(std::uint64_t number) {
  const bool teens = number % 100 >= 11 && number % 100 <= 13;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  const std::uint64_t digit = number % 10;
  return std::to_string(number) + endings[teens || digit > 3 ? 0 : digit];
}

}  // namespace stowage::session
