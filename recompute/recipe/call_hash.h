// The hash of a call of an op: its shape, and the fingerprint of its signature.
//
// It is one hash, computed in two steps for two users, of which the first needs it earlier and must not
// include everything:
// - The shape: the operator's name, and the types and sizes of its tensors. A schedule knows the ops of its
//   iteration by it (StepLog::shape_hashes). It holds nothing in which two iterations of a job that repeats
//   itself may differ (scalars such as a step's learning rate, strides, offsets, torch's settings) and no
//   address, so that it is the same in every process and on every rank.
// - The fingerprint: adds all else that a Signature holds. Only fingerprints tell signatures apart: at each
//   op the call's signature is looked up, and a comparison piece by piece, in memory last touched an
//   iteration ago, cost more than all else. Two among a million signatures share a fingerprint with a
//   probability of about 10^-27, if its 128 bits are as good as random. It holds addresses (of the op's
//   traits, of generators), so it means nothing in another process.
//
// Thread safety: pure.
#pragma once

#include <ATen/core/ivalue.h>

#include <bit>
#include <cstdint>

#include "core/support/mix.h"

namespace stowage::recompute {

struct Environment;
struct OpTraits;
struct Seen;

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
};

/// Two chains of words that mix in different ways: what is the same in one by chance is not in the other.
class HashChains {
 public:
  explicit HashChains(std::uint64_t seed) : low_(seed), high_(seed) {}
  void add(std::uint64_t word) {
    low_ = (std::rotl(low_, 23) ^ word) * kGoldenGamma;
    high_ = (high_ + word) * kOdd;
    high_ ^= high_ >> 32u;
  }
  void add(std::uint64_t high, std::uint32_t low) { add(high << 32u | low); }
  [[nodiscard]] Fingerprint value() const { return {mix(low_), mix(high_)}; }

 private:
  static constexpr std::uint64_t kOdd = 0xd6e8feb86659fd93u;
  std::uint64_t low_;
  std::uint64_t high_;
};

class CallHash {
 public:
  /// The first step, for any call. Of tensors that are not dense only keys and types count.
  CallHash(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments);

  [[nodiscard]] std::uint64_t shape() const { return chains_.value().low; }
  /// The second step, for the same call, under the present grad mode. `tensors`: those among `arguments`, in
  /// order; every other argument is plain (argument.h).
  [[nodiscard]] Fingerprint fingerprint(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                                        c10::ArrayRef<Seen> tensors, const Environment& environment) const;

 private:
  HashChains chains_;
};

}  // namespace stowage::recompute
