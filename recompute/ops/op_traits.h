// What the runtime must know of an operator, derived once and looked up fast.
//
// Everything comes from the operator's schema, its tags and its registrations, except for a few operators
// whose schema is wrong or whose results may not repeat: those are listed by name in op_lists.cc.
//
// Thread safety: every function, from any thread. Traits live for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recompute/ops/op_lists.h"
#include "recompute/ops/random_ops.h"

namespace c10 {
class OperatorHandle;
}

namespace stowage::recompute {

struct OpTraits {
  const c10::OperatorHandle* handle = nullptr;
  const c10::OperatorHandle* over_gradient =
      nullptr;                  ///< the overload that may write its result over its gradient
  std::string name;             ///< such as "aten::add.Tensor"
  std::uint64_t name_hash = 0;  ///< the same in every process
  bool composite = false;       ///< only calls other ops, which are seen
  bool trusted = false;         ///< of PyTorch's own namespace: the schema is right, no pointer is kept
  bool view = false;            ///< results share an argument's storage; no data is read
  bool random = false;          ///< may draw from a generator; `drawing` tells how
  bool factory = false;         ///< makes a tensor of constants or of nothing, that unseen code may then fill
  bool overwrites = false;      ///< first argument: written as a whole, not read
  bool resizes = false;         ///< may change a storage's size or swap it
  bool unrepeatable = false;    ///< may not give the same bits again
  bool unrepeatable_kernel = false;   ///< the same, unless deterministic algorithms are on
  bool routes = false;                ///< top-k and the like: what it reads decides where data go
  bool tensorwise = false;            ///< on lists: what becomes of the i-th tensors depends on these alone
  bool convolution_backward = false;  ///< aten::convolution_backward, which may run in two calls
  bool copies_self = false;           ///< autograd may keep a copy of what it writes over (copied_self.h)
  std::uint64_t unread = 0;           ///< per argument, one bit: `self` whose bytes no call reads (unread.h)
  bool rewritable = false;  ///< has any of tensorwise, convolution_backward, over_gradient, encodable,
                            ///< encoded_argument: its calls may run as others (rewrite/)
  Products products = Products::kNone;
  Encodable encodable = Encodable::kNothing;
  std::int32_t encoded_argument = -1;  ///< that it reads and that may be encoded
  bool pooling_backward = false;       ///< of a max pooling with indices
  bool masks_gradient = false;         ///< aten::threshold_backward, that of a ReLU
  bool served_backward = false;        ///< what its op made serves as well as that argument (stand_ins.h)
  Drawing drawing;
  std::int32_t statistics = -1;  ///< training batch-norm: first of two running-statistics arguments
  std::int32_t training = -1;    ///< the argument that says so; -1: always
  std::uint32_t arguments = 0;
  std::uint32_t returns = 0;
  std::vector<bool> written;  ///< per argument, by the schema
  std::vector<bool> out;      ///< per argument: an `out=` one
  bool mutates = false;       ///< any of `written`
  bool passes = false;        ///< its calls need not be seen: a view, or a composite that reads no memory
};

/// The traits of an operator. The first look-up of each operator takes a lock; later ones cost a few ns.
const OpTraits& traits_of(const c10::OperatorHandle& op);

/// The name of its argument `at` in the operator's schema.
const std::string& argument_name(const OpTraits& op, std::size_t at);

}  // namespace stowage::recompute
