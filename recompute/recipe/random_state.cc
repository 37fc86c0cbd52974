#include "recompute/recipe/random_state.h"

#include <ATen/core/Tensor.h>

#include <mutex>

namespace stowage::recompute {

RandomState::RandomState(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  if (generator.device().is_cpu()) {
    auto& source = *generator.get<at::CPUGeneratorImpl>();
    cpu_ = std::make_unique<Engine>(
        Engine{source.engine(), source.next_float_normal_sample(), source.next_double_normal_sample()});
    return;
  }
  source_ = generator;
  seed_ = generator.current_seed();
  offset_ = generator.get_offset();
}

at::Generator RandomState::make_generator() const {
  if (cpu_ != nullptr) {
    at::Generator made = at::make_generator<at::CPUGeneratorImpl>();
    auto& target = *made.get<at::CPUGeneratorImpl>();
    target.set_engine(cpu_->engine);
    target.set_next_float_normal_sample(cpu_->next_float);
    target.set_next_double_normal_sample(cpu_->next_double);
    return made;
  }
  const std::lock_guard<std::mutex> lock(source_.mutex());
  at::Generator made = source_.clone();
  made.set_current_seed(seed_);
  made.set_offset(offset_);
  return made;
}

bool may_be_generator_state(const c10::StorageImpl& storage) {
  static const std::size_t bytes = at::detail::getDefaultCPUGenerator().get_state().nbytes();
  return storage.device_type() == c10::kCPU && !storage.sym_nbytes().is_symbolic() &&
         storage.nbytes() == bytes;
}

}  // namespace stowage::recompute
