#include "core/format/actions_content.h"

#include <cstddef>
#include <cstdint>

namespace stowage {
namespace {

constexpr std::uint32_t kMagic = 0x31435353;  // "SSC1"
constexpr std::size_t kHead = 8;
constexpr std::size_t kRow = 9;

void put(std::vector<std::byte>& out, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(std::byte(number >> shift & 0xffu));
}

/// Requires: 4 bytes from `at` on.
std::uint32_t get(std::span<const std::byte> value, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) number = number << 8u | std::to_integer<std::uint32_t>(value[at + i]);
  return number;
}

}  // namespace

std::vector<std::byte> encode_actions(const std::vector<Action>& actions) {
  std::vector<std::byte> out;
  out.reserve(kHead + actions.size() * kRow);
  put(out, kMagic);
  put(out, static_cast<std::uint32_t>(actions.size()));
  for (const Action& action : actions) {
    out.push_back(std::byte(action.kind));
    put(out, action.op);
    put(out, action.entry);
  }
  return out;
}

std::optional<std::vector<Action>> decode_actions(std::span<const std::byte> value) {
  if (value.size() < kHead || get(value, 0) != kMagic) return std::nullopt;
  const std::size_t count = get(value, 4);
  if (value.size() != kHead + count * kRow) return std::nullopt;
  std::vector<Action> actions(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kHead + i * kRow;
    const auto kind = std::to_integer<std::uint8_t>(value[at]);
    if (kind > static_cast<std::uint8_t>(kLastActionKind)) return std::nullopt;
    actions[i] = {ActionKind{kind}, get(value, at + 1), get(value, at + 5)};
  }
  return actions;
}

}  // namespace stowage
