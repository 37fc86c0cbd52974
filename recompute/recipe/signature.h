// The signature of a call: an op with its plain arguments and the geometry of its tensors. A job's iterations
// repeat the same few hundred signatures, so that each is written down once and recipes only name it.
// Signatures are told apart by their fingerprints alone (call_hash.h).
//
// A signature also knows what its calls cost. On the CPU the figure is the least of the first 16 calls and
// then stays, so that what is chosen by it is the same in every steady iteration; on CUDA it is computed from
// sizes (modelled_cost.h).
//
// Thread safety: none; the runtime's lock guards it. Invariants: a signature in the book never changes but
// for its cost.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/impl/SizesAndStrides.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <vector>

#include "recompute/recipe/call_hash.h"
#include "recompute/recipe/counted.h"
#include "recompute/settings/environment.h"

namespace at {
class TensorBase;
}

namespace stowage::recompute {

struct OpTraits;

/// What an op does with one tensor argument's storage.
enum class Role : std::uint8_t {
  kRead,
  kWritten,      ///< read and written
  kOverwritten,  ///< written, and nothing that the results show depends on what was there
  kUnread        ///< only sizes and layout are read
};

/// How an op saw a storage: the view, by value.
struct Geometry {
  c10::impl::SizesAndStrides view;
  std::int64_t offset = 0;  ///< in elements
  std::uint64_t storage_bytes = 0;
  c10::DispatchKeySet keys;
  caffe2::TypeMeta dtype;
  c10::Device device{c10::kCPU};
  bool wrapped_number = false;  ///< a Python number: promotes types otherwise than a tensor
  Role role = Role::kRead;
};

/// How an argument is put together again.
enum class ArgumentKind : std::uint8_t { kPlain, kTensor, kTensorList, kOptionalTensorList };

/// One argument: a plain value, or the next tensors of the call. `present` tells which elements of a list
/// there are.
struct Argument {
  ArgumentKind kind = ArgumentKind::kPlain;
  c10::IValue plain;
  std::vector<bool> present;
};

struct Signature : Counted<Signature> {
  const OpTraits* op = nullptr;
  std::uint64_t shape = 0;  ///< CallHash::shape()
  std::vector<Argument> arguments;
  std::vector<Geometry> tensors;
  Environment environment;  ///< torch's settings, as far as they matter to the op
  bool grad_mode = true;
  bool ignores_lazy_bits = false;  ///< it ran in Python's dispatch (seen_thread.h)
  bool cuda = false;               ///< some of its tensors are there

  [[nodiscard]] Obeyed obeyed() const;

  /// Notes that a call took `ns` and made storages of `made_bytes`. After 16 calls the cost stays fixed.
  void note_cost(std::uint64_t ns, std::uint64_t made_bytes);
  /// Time of a call: measured, in steps of about a fifth, or modelled; 0 before the first.
  [[nodiscard]] std::uint64_t cost_ns() const { return cost_ns_; }

 private:
  std::uint64_t least_ns_ = 0;
  std::uint64_t cost_ns_ = 0;
  std::uint32_t calls_ = 0;
};

/// A tensor argument and what the op does with its storage of so many bytes.
struct Seen {
  const at::TensorBase* tensor;
  std::uint64_t storage_bytes;
  Role role;
};

/// The signatures that there are.
class SignatureBook {
 public:
  /// The signature of the call that `hash` is of. `tensors`: those among `arguments`, in order. Every other
  /// argument is plain (see OpCall).
  Ref<Signature> signature_of(const CallHash& hash, const OpTraits& op, c10::ArrayRef<c10::IValue> arguments,
                              c10::ArrayRef<Seen> tensors);
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  struct Slot {
    Fingerprint fingerprint;
    Ref<Signature> signature;
  };
  Slot& slot_of(const Fingerprint& fingerprint);
  void make_space();

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  ///< linear probing; a power of two
  std::size_t used_ = 0;
};

}  // namespace stowage::recompute
