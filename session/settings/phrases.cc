#include "session/settings/phrases.h"

namespace stowage::session {

std::string in_mib(Bytes bytes) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  return std::to_string((bytes.value() + kMib / 2) / kMib) + " MiB";
}

std::string ordinal(std::uint64_t number) {
  const bool teens = number % 100 >= 11 && number % 100 <= 13;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  const std::uint64_t digit = number % 10;
  return std::to_string(number) + endings[teens || digit > 3 ? 0 : digit];
}

}  // namespace stowage::session
