#include "recompute/rewrite/stand_ins.h"

#include <bit>
#include <memory>
#include <mutex>
#include <utility>

#include "core/support/mix.h"
#include "recompute/machine/machine.h"
#include "recompute/ops/argument.h"
#include "recompute/ops/tensor_memory.h"
#include "recompute/rewrite/seen_record.h"
#include "recompute/threads/suspension.h"
#include "recompute/threads/thread_state.h"

namespace stowage::recompute {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr std::uint64_t kSmallest = std::uint64_t{1} << 16u;  // bytes

// A number of the type, so that a result that was cut off there compares as the bound does.
bool is_exact(double bound, at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return true;
    case at::kFloat:
      return static_cast<double>(static_cast<float>(bound)) == bound;
    case at::kHalf:
      return static_cast<double>(static_cast<c10::Half>(static_cast<float>(bound))) == bound;
    case at::kBFloat16:
      return static_cast<double>(static_cast<c10::BFloat16>(static_cast<float>(bound))) == bound;
    default:
      return false;
  }
}

// Which op it is, forward or backward, and with which bounds or slope; 0: its result does not serve.
std::uint64_t kind_of(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments, at::ScalarType type) {
  const std::size_t first = traits.served_backward ? 2 : 1;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    if (!arguments[i].isScalar() && !arguments[i].isBool()) return 0;
  }
  const double low = arguments[first].toScalar().toDouble();
  if (traits.name.find("leaky") != std::string::npos) {
    const bool reads_result = traits.served_backward && arguments[first + 1].toBool();
    return low >= 0 && !reads_result ? mix(std::bit_cast<std::uint64_t>(low)) | 1u : 0;
  }
  const double high = arguments[first + 1].toScalar().toDouble();
  if (!(low <= high) || !is_exact(low, type) || !is_exact(high, type)) return 0;
  return mix(mix(std::bit_cast<std::uint64_t>(low)) + std::bit_cast<std::uint64_t>(high)) | 1u;
}

std::uint64_t key_of(const StorageRecord& result, std::uint64_t kind) { return mix(kind + result.writes); }

}  // namespace

ServedCall::ServedCall(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments)
    : kind_(kind_of(traits, arguments, arguments[0].toTensor().scalar_type())),
      asked_before_(this_thread().copied) {
  if (kind_ == 0) return;
  if (traits.mutates) {
    this_thread().copied = &saved_;
  } else {
    saved_ = arguments[0].toTensor();
  }
}

ServedCall::~ServedCall() { this_thread().copied = asked_before_; }

void ServedCall::end(c10::ArrayRef<c10::IValue> results) {
  this_thread().copied = asked_before_;
  const at::Tensor& result = results[0].toTensor();
  if (!saved_.defined() || !result.requires_grad() || result.nbytes() < kSmallest) return;
  if (suspended() || this_thread().opaque > 0 || !are_alike(saved_, result)) return;
  const Lock lock(machine().mutex);
  StorageRecord* const record = seen_record_of(result);
  StorageRecord* const saved = seen_record_of(saved_);
  if (record == nullptr || saved == nullptr || record == saved) return;
  Value& value = *saved->current;
  if (!value.recipe || value.stand_in) return;
  // Without what autograd knows of it.
  value.stand_in = std::make_unique<StandIn>(StandIn{result.tensor_data(), key_of(*record, kind_)});
}

at::Tensor stand_in_for(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor* const saved = tensor_in(arguments[static_cast<std::size_t>(traits.encoded_argument)]);
  if (saved == nullptr) return {};
  const std::uint64_t kind = kind_of(traits, arguments, saved->scalar_type());
  const Lock lock(machine().mutex);
  StorageRecord* const record = seen_record_of(*saved);
  if (kind == 0 || record == nullptr || !record->current->stand_in) return {};
  const StandIn& stand_in = *record->current->stand_in;
  const StorageRecord* const home = seen_record_of(stand_in.tensor);
  if (home == nullptr || key_of(*home, kind) != stand_in.key) return {};
  return std::move(std::exchange(record->current->stand_in, nullptr)->tensor);
}

}  // namespace stowage::recompute
