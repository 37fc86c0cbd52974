#include "recompute/stores/digest.h"

#include <bit>
#include <cstring>

#include "core/support/mix.h"

namespace stowage::recompute {

// In four lanes.
std::uint64_t digest_of(const void* data, std::uint64_t bytes) {
  constexpr std::uint64_t kLanes = 4;
  constexpr std::uint64_t kStep = kLanes * sizeof(std::uint64_t);
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const char* at = static_cast<const char*>(data);
  for (; bytes >= kStep; bytes -= kStep, at += kStep) {
    std::uint64_t words[kLanes];
    std::memcpy(words, at, kStep);
    for (std::uint64_t i = 0; i < kLanes; ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kGoldenGamma, 29);
  }
  std::uint64_t tail[kLanes] = {};
  std::memcpy(tail, at, bytes);
  std::uint64_t digest = bytes;
  for (std::uint64_t i = 0; i < kLanes; ++i) digest = mix(digest ^ mix(lanes[i]) ^ (tail[i] * kGoldenGamma));
  return digest;
}

}  // namespace stowage::recompute
