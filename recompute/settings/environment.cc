#include "recompute/settings/environment.h"

#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

#include <atomic>

namespace stowage::recompute {
namespace {

at::Float32Backend backend_of(Obeyed obeyed) {
  return obeyed.cuda ? at::Float32Backend::CUDA : at::Float32Backend::MKLDNN;
}

at::Float32Op op_of(Obeyed obeyed) {
  if (obeyed.products == Products::kConvolution) return at::Float32Op::CONV;
  return obeyed.products == Products::kRecurrent ? at::Float32Op::RNN : at::Float32Op::MATMUL;
}

at::Float32Precision precision_of(Obeyed obeyed) {
  return at::globalContext().float32Precision(backend_of(obeyed), op_of(obeyed));
}

// By inheritance from a more general setting where that gives it, so that what is inherited stays inherited.
// None at all is as exact as IEEE.
void set_precision(Obeyed obeyed, at::Float32Precision wanted) {
  constexpr at::Float32Precision kInherited = at::Float32Precision::NONE;
  const auto set = [&](at::Float32Precision to) {
    if (precision_of(obeyed) != wanted)
      at::globalContext().setFloat32Precision(backend_of(obeyed), op_of(obeyed), to);
  };
  set(kInherited);
  set(wanted == kInherited ? at::Float32Precision::IEEE : wanted);
}

std::atomic<bool> keeps_threads{false};

void change(const Environment& from, const Environment& to, Obeyed obeyed) {
  if (to.threads != from.threads && !keeps_threads.load(std::memory_order_relaxed))
    at::set_num_threads(to.threads);
  if (to.default_type != from.default_type)
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(to.default_type));
  change_switches(from.switches, to.switches, obeyed);
  if (obeyed.products != Products::kNone) set_precision(obeyed, to.precision);
}

}  // namespace

Environment Environment::present(Obeyed obeyed) {
  Environment now;
  now.threads = at::get_num_threads();
  now.default_type = c10::get_default_dtype_as_scalartype();
  now.switches = present_switches(obeyed);
  if (obeyed.products != Products::kNone) now.precision = precision_of(obeyed);
  now.float_mode = FloatMode::present();
  return now;
}

void keep_number_of_threads() noexcept { keeps_threads.store(true); }

UnderEnvironment::UnderEnvironment(const Environment& wanted, Obeyed obeyed)
    : wanted_(wanted), obeyed_(obeyed), before_(Environment::present(obeyed)) {
  if (before_ == wanted_) return;
  change(before_, wanted_, obeyed_);
  float_mode_.emplace(wanted_.float_mode);  // of the pool that there is now
}

UnderEnvironment::~UnderEnvironment() {
  if (before_ == wanted_) return;
  float_mode_.reset();
  change(wanted_, before_, obeyed_);
}

}  // namespace stowage::recompute
