#include "recompute/environment.h"

#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

namespace stowage::recompute {
namespace {

at::Float32Backend backend_of(ProductSetting setting) {
  return setting.cuda ? at::Float32Backend::CUDA : at::Float32Backend::MKLDNN;
}

at::Float32Op op_of(ProductSetting setting) {
  if (setting.products == Products::kConvolution) return at::Float32Op::CONV;
  return setting.products == Products::kRecurrent ? at::Float32Op::RNN : at::Float32Op::MATMUL;
}

at::Float32Precision precision_of(ProductSetting setting) {
  return at::globalContext().float32Precision(backend_of(setting), op_of(setting));
}

// By inheritance from a more general setting where that gives it, so that what is inherited stays inherited.
// None at all is as exact as IEEE.
void set_precision(ProductSetting setting, at::Float32Precision wanted) {
  constexpr at::Float32Precision kInherited = at::Float32Precision::NONE;
  const auto set = [&](at::Float32Precision to) {
    if (precision_of(setting) != wanted)
      at::globalContext().setFloat32Precision(backend_of(setting), op_of(setting), to);
  };
  set(kInherited);
  set(wanted == kInherited ? at::Float32Precision::IEEE : wanted);
}

void change(const Environment& from, const Environment& to, ProductSetting setting) {
  at::Context& context = at::globalContext();
  if (to.threads != from.threads) at::set_num_threads(to.threads);
  if (to.default_type != from.default_type)
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(to.default_type));
  context.setDeterministicAlgorithms(to.deterministic, to.deterministic_warns);
  context.setUserEnabledMkldnn(to.mkldnn);
  context.setDeterministicMkldnn(to.deterministic_mkldnn);
  context.setUserEnabledCuDNN(to.cudnn);
  context.setDeterministicCuDNN(to.deterministic_cudnn);
  context.setBenchmarkCuDNN(to.benchmark_cudnn);
  if (setting.products != Products::kNone) set_precision(setting, to.precision);
}

}  // namespace

Environment Environment::present(ProductSetting setting) {
  const at::Context& context = at::globalContext();
  Environment now;
  now.threads = at::get_num_threads();
  now.default_type = c10::get_default_dtype_as_scalartype();
  now.deterministic = context.deterministicAlgorithms();
  now.deterministic_warns = context.deterministicAlgorithmsWarnOnly();
  now.mkldnn = context.userEnabledMkldnn();
  now.deterministic_mkldnn = context.deterministicMkldnn();
  now.cudnn = context.userEnabledCuDNN();
  now.deterministic_cudnn = context.deterministicCuDNN();
  now.benchmark_cudnn = context.benchmarkCuDNN();
  if (setting.products != Products::kNone) now.precision = precision_of(setting);
  return now;
}

UnderEnvironment::UnderEnvironment(const Environment& wanted, ProductSetting setting)
    : wanted_(wanted), setting_(setting), before_(Environment::present(setting)) {
  if (before_ != wanted_) change(before_, wanted_, setting_);
}

UnderEnvironment::~UnderEnvironment() {
  if (before_ != wanted_) change(wanted_, before_, setting_);
}

}  // namespace stowage::recompute
