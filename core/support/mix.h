// Well-spread 64-bit numbers that are the same on every machine: for hashes and for reproducible random
// choices.
//
// Source: SplitMix64; Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>

namespace stowage {

/// SplitMix64's increment: 2^64 divided by the golden ratio, odd.
inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

/// SplitMix64's finaliser: a bijection in which every bit depends on every bit; 0 stays 0.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30u)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27u)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31u);
}

/// The generator. Unlike the standard distributions it gives the same numbers everywhere.
class SplitMix {
 public:
  explicit constexpr SplitMix(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() { return mix(state_ += kGoldenGamma); }

 private:
  std::uint64_t state_;
};

}  // namespace stowage
