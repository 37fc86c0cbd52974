// A small training job for session tests, from its first allocation on: a model is made, its optimizer's
// state is made in the first step, gradients live from one iteration into the next.
//
// Every block is noted in an account of its own: two that are alive never overlap.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/session/fake_port.h"

namespace stowage::session {

class TrainingJob {
 public:
  struct Shape {
    int parameters = 12;
    std::uint64_t width = 4096;  ///< bytes of the first parameter; each is larger than the one before
    bool evaluates = false;      ///< every fourth iteration has more activations
    bool frees_late = false;     ///< activations are freed when the iteration ends
  };

  TrainingJob(FakePort& port, Session& session, const Shape& shape)
      : job_(port, session), session_(session), shape_(shape) {}
  TrainingJob(const TrainingJob&) = delete;
  TrainingJob& operator=(const TrainingJob&) = delete;
  ~TrainingJob() {
    for (const auto& [begin, end] : live_) job_.free(reinterpret_cast<void*>(begin));
  }

  void make_model() {
    for (int i = 0; i < shape_.parameters; ++i) {
      void* const initial = allocate(size_of(i));
      parameters_.push_back(allocate(size_of(i)));
      release(initial);
    }
  }
  void iterate() {
    while (!gradients_.empty()) drop(gradients_);
    const bool more = shape_.evaluates && iteration_ % 4 == 3;
    std::vector<void*> activations;
    for (int i = 0; i < shape_.parameters + (more ? 3 : 0); ++i)
      activations.push_back(allocate(2 * size_of(i)));
    for (int i = shape_.parameters; i-- > 0;) {
      gradients_.push_back(allocate(size_of(i)));
      if (!shape_.frees_late) drop(activations);
    }
    while (!shape_.frees_late && !activations.empty()) drop(activations);
    session_.on_optimizer_begin();
    for (int i = 0; i < shape_.parameters; ++i) {
      if (iteration_ == 0) state_.push_back(allocate(2 * size_of(i)));
      release(allocate(size_of(i)));
    }
    while (!activations.empty()) drop(activations);
    session_.on_optimizer_end();
    session_.on_mark(MarkSource::kOptimizer);
    ++iteration_;
  }
  void run(int iterations) {
    if (parameters_.empty()) make_model();
    while (iterations-- > 0) iterate();
  }
  [[nodiscard]] bool overlapped() const { return overlapped_; }
  [[nodiscard]] const std::vector<void*>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<void*>& state() const { return state_; }
  [[nodiscard]] int requests() const { return requests_; }

  void* allocate(std::uint64_t bytes) {
    ++requests_;
    void* const address = job_.allocate(bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const auto above = live_.lower_bound(begin);
    overlapped_ |= above != live_.end() && above->first < begin + bytes;
    overlapped_ |= above != live_.begin() && std::prev(above)->second > begin;
    live_[begin] = begin + bytes;
    return address;
  }
  void release(void* address) {
    live_.erase(reinterpret_cast<std::uintptr_t>(address));
    job_.free(address);
  }

 private:
  [[nodiscard]] std::uint64_t size_of(int i) const {
    return shape_.width * static_cast<std::uint64_t>(i + 1);
  }
  void drop(std::vector<void*>& blocks) {
    release(blocks.back());
    blocks.pop_back();
  }

  FakeJob job_;
  Session& session_;
  const Shape shape_;
  std::map<std::uintptr_t, std::uintptr_t> live_;  ///< by begin
  std::vector<void*> parameters_, gradients_, state_;
  int iteration_ = 0;
  int requests_ = 0;
  bool overlapped_ = false;
};

}  // namespace stowage::session
