#include "recompute/environment.h"

#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

#include <string>

namespace stowage::recompute {
namespace {

std::string name_of(at::Float32MatmulPrecision precision) {
  if (precision == at::Float32MatmulPrecision::HIGHEST) return "highest";
  return precision == at::Float32MatmulPrecision::HIGH ? "high" : "medium";
}

}  // namespace

Environment Environment::present() {
  const at::Context& context = at::globalContext();
  Environment now;
  now.threads = at::get_num_threads();
  now.deterministic = context.deterministicAlgorithms();
  now.deterministic_warns = context.deterministicAlgorithmsWarnOnly();
  now.deterministic_cudnn = context.deterministicCuDNN();
  now.benchmark_cudnn = context.benchmarkCuDNN();
  now.mkldnn = context.userEnabledMkldnn();
  now.precision = context.float32MatmulPrecision();
  now.default_type = c10::get_default_dtype_as_scalartype();
  return now;
}

void Environment::apply() const {
  const Environment now = present();
  at::Context& context = at::globalContext();
  if (threads != now.threads) at::set_num_threads(threads);
  context.setDeterministicAlgorithms(deterministic, deterministic_warns);
  context.setDeterministicCuDNN(deterministic_cudnn);
  context.setBenchmarkCuDNN(benchmark_cudnn);
  context.setUserEnabledMkldnn(mkldnn);
  if (precision != now.precision) context.setFloat32MatmulPrecision(name_of(precision));
  if (default_type != now.default_type) c10::set_default_dtype(c10::scalarTypeToTypeMeta(default_type));
}

}  // namespace stowage::recompute
