// What tells one signature from another: a hash of 128 bits of the op, its plain arguments, the geometry
// of its tensors and torch's settings, all that Signature holds.
//
// Why: at each op the signature of the call is looked up, and comparing it with the one that is found, piece
// by piece, in memory that was last touched an iteration ago, cost more than all else. Two among a million
// signatures share a fingerprint with a probability of about 10^-27, if its bits are as good as random.
//
// Thread safety: pure.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

namespace stowage::recompute {

struct Environment;
struct OpTraits;
struct Seen;

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
};

/// Of a call under the present grad mode. `tensors`: those among `arguments`, in order.
Fingerprint fingerprint_of(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                           c10::ArrayRef<Seen> tensors, const Environment& environment);

}  // namespace stowage::recompute
