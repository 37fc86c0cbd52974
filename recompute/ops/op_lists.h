// The operators about which a schema says too little, by name without namespace and overload.
//
// Sources: torch.use_deterministic_algorithms' documentation for the kernels that do not repeat; the kernels'
// code for batch-norm's statistics, which the schemas of these operators do not declare as written.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowage::recompute {

/// Kinds of products of float32 numbers, for each of which torch has a setting that says how exact they are.
enum class Products : std::uint8_t { kNone, kMatrix, kConvolution, kRecurrent, kAttention };
/// Those that an op may make, by parts of its name: more ops than necessary, so that new ones are included.
Products products_of(std::string_view name);

/// Makes a tensor that code outside of ops may then fill: empty, zeros, full, …
bool is_factory(std::string_view name);
/// Of an op's gradient, made of one gradient and one tensor that was saved, all alike: its overload whose
/// result may be the gradient that it reads. Empty: there is none.
std::string_view overload_over_gradient(std::string_view name);
/// What of an op's tensors an op of the backward pass reads in full bytes, and needs in fewer (encodings.h).
enum class Encodable : std::uint8_t {
  kNothing,
  kRectified,     ///< its result, of a ReLU: what a pooling of it gives serves (early_masks.h)
  kPooled,        ///< its second result, the indices
  kPooledBodies,  ///< the same, of three dimensions
  kDropped,       ///< its second result, the mask of a dropout
  kServed,        ///< its input, or autograd's copy of that: its result serves as well (stand_ins.h)
};
Encodable encodable_of(std::string_view name);
inline bool is_pooling(Encodable encodable) {
  return encodable == Encodable::kPooled || encodable == Encodable::kPooledBodies;
}
/// The backward op of a max pooling with indices.
bool is_pooling_backward(std::string_view name);
/// An op of the backward pass that what its op made serves as well as what that read.
bool is_served_backward(std::string_view name);
/// The argument that an op of the backward pass reads, and that may be encoded; -1: none.
int encoded_argument_of(std::string_view name);
/// Writes the whole of its first argument without reading it: fill_, uniform_, …
bool overwrites_self(std::string_view name);
/// Changes a storage's size or swaps it.
bool resizes(std::string_view name);
/// Never gives the same again, or has an effect outside of its results.
bool never_repeats(std::string_view name);
/// Its kernels may add in any order unless deterministic algorithms are asked for.
bool repeats_only_if_deterministic(std::string_view name);
/// Its results decide where data go: top-k, sort, argmax, …
bool routes_data(std::string_view name);

/// A composite that calls other ops and reads no tensor's memory itself, not even that of indices.
bool reads_no_memory(std::string_view name);

/// Where a training batch-norm has its running statistics: the first of two arguments, and the flag (-1:
/// always trains).
struct StatisticsArguments {
  int first = 0;
  int training = -1;
};
std::optional<StatisticsArguments> undeclared_statistics(std::string_view name);

}  // namespace stowage::recompute
