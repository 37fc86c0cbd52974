#include "recompute/random_state.h"

#include <mutex>
#include <utility>

namespace stowage::recompute {

RandomState::RandomState(at::Generator generator) : generator_(std::move(generator)) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  if (generator_.device().is_cpu()) {
    auto& source = *generator_.get<at::CPUGeneratorImpl>();
    cpu_ = std::make_unique<Engine>(
        Engine{source.engine(), source.next_float_normal_sample(), source.next_double_normal_sample()});
    return;
  }
  seed_ = generator_.current_seed();
  offset_ = generator_.get_offset();
}

void RandomState::restore() const {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  if (cpu_ != nullptr) {
    auto& target = *generator_.get<at::CPUGeneratorImpl>();
    target.set_engine(cpu_->engine);
    target.set_next_float_normal_sample(cpu_->next_float);
    target.set_next_double_normal_sample(cpu_->next_double);
    return;
  }
  at::Generator state = generator_.clone();
  state.set_current_seed(seed_);
  state.set_offset(offset_);
  generator_.graphsafe_set_state(state);
}

RandomState::Replay::Replay(const RandomState& wanted) : generator_(wanted.generator_) {
  if (generator_.device().is_cpu()) {
    before_ = std::make_unique<RandomState>(generator_);
  } else {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    state_before_ = generator_.graphsafe_get_state();
  }
  wanted.restore();
}

RandomState::Replay::~Replay() {
  if (before_ != nullptr) {
    before_->restore();
    return;
  }
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.graphsafe_set_state(state_before_);
}

}  // namespace stowage::recompute
