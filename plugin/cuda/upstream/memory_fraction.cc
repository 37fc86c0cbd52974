#include "plugin/cuda/upstream/memory_fraction.h"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>

#include "plugin/cuda/upstream/upstream_settings.h"

namespace stowage::plugin {
namespace {

// The largest fraction of `whole` that comes to no more than `most`.
double fraction_of(std::uint64_t most, std::uint64_t whole) {
  if (most >= whole) return 1;
  double fraction = static_cast<double>(most) / static_cast<double>(whole);
  while (fraction > 0 && static_cast<std::uint64_t>(fraction * static_cast<double>(whole)) > most)
    fraction = std::nextafter(fraction, 0.0);
  return fraction;
}

}  // namespace

double MemoryFraction::users_locked() const { return users_ ? *users_ : upstream_.getMemoryFraction(index_); }

double MemoryFraction::users() const {
  const std::lock_guard lock(mutex_);
  return users_locked();
}

void MemoryFraction::set_users(double fraction) {
  const std::lock_guard lock(mutex_);
  const c10::cuda::CUDAGuard guard(index_);
  if (!users_ || !(fraction >= 0 && fraction <= 1)) upstream_.setMemoryFraction(fraction, index_);
  if (users_) users_ = fraction;
  apply();
}

std::optional<Bytes> MemoryFraction::users_bytes() {
  const std::lock_guard lock(mutex_);
  return users_ && !most_ ? std::optional(Bytes(allowed(*users_))) : std::nullopt;
}

void MemoryFraction::cap(std::optional<Bytes> most) {
  const std::lock_guard lock(mutex_);
  if (!most_ && !most) return;
  most_ = most;
  apply();
}

bool MemoryFraction::take(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  arenas_ += bytes.value();
  apply();  // first, so that upstream cannot take the free memory meanwhile
  if (has_room()) return true;
  arenas_ -= bytes.value();
  apply();
  return false;
}

void MemoryFraction::give(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  arenas_ -= std::min(arenas_.load(), bytes.value());
  apply();
}

void MemoryFraction::correct(Bytes taken, Bytes real) {
  if (taken == real) return;
  const std::lock_guard lock(mutex_);
  arenas_ = arenas_ + real.value() - taken.value();
  apply();
}

bool MemoryFraction::exceeded() {
  const std::lock_guard lock(mutex_);
  return !has_room();
}

void MemoryFraction::settings_changed() {
  if (!upstream_.initialized() || index_ >= c10::cuda::device_count()) return;
  const std::lock_guard lock(mutex_);
  apply();
}

Error MemoryFraction::no_room() {
  return {ErrorCode::kOutOfMemory,
          "the memory fraction that the job set has no room for the arena: raise it with "
          "torch.cuda.set_per_process_memory_fraction, or let the job run without a plan"};
}

// As upstream itself computes it.
std::uint64_t MemoryFraction::allowed(double fraction) {
  cudaDeviceProp properties{};
  if (device_bytes_ == 0 && cudaGetDeviceProperties(&properties, index_) == cudaSuccess)
    device_bytes_ = properties.totalGlobalMem;
  return static_cast<std::uint64_t>(fraction * static_cast<double>(device_bytes_));
}

bool MemoryFraction::has_room() {
  const double users = users_locked();
  if (users >= 1) return true;  // the device itself is the limit
  const auto held = static_cast<std::uint64_t>(upstream_.getDeviceStats(index_).reserved_bytes[0].current);
  return arenas_ + held <= allowed(users);
}

void MemoryFraction::apply() {
  const double users = users_locked();
  double wanted = users;
  const std::uint64_t whole = allowed(1);
  const std::uint64_t ours = arenas_ + (expandable_segments_are_ours() ? page_slack().value() : 0);
  if (users < 1 && ours > 0) {
    const std::uint64_t both = allowed(users);
    wanted = fraction_of(both - std::min(both, ours), whole);
  }
  if (most_) wanted = std::min(wanted, fraction_of(most_->value(), whole));
  if (!users_ && wanted == users) return;
  const c10::cuda::CUDAGuard guard(index_);
  upstream_.setMemoryFraction(wanted, index_);
  users_ = wanted == users ? std::nullopt : std::optional(users);
}

}  // namespace stowage::plugin
