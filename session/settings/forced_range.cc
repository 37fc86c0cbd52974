#include "session/settings/forced_range.h"

#include <charconv>

namespace stowage::session {
namespace {

// Removes the number at the front of `text` and returns it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::optional<ForcedRange> ForcedRange::parse(std::string_view text) {
  ForcedRange range;
  range.text_ = text;
  if (text.empty()) return range;
  if (!take(text, "forced:")) return std::nullopt;
  const std::optional<std::uint64_t> seed = take_number(text);
  if (!seed) return std::nullopt;
  range.seed_ = *seed;
  if (text.empty()) return range;
  if (!take(text, ":")) return std::nullopt;
  const std::optional<std::uint64_t> first = take_number(text);
  if (!first || !take(text, "-")) return std::nullopt;
  const std::optional<std::uint64_t> last = take_number(text);
  if (!last || !text.empty() || *first < 1 || *last < *first) return std::nullopt;
  range.first_ = *first;
  range.last_ = *last;
  range.part_ = true;
  return range;
}

}  // namespace stowage::session
