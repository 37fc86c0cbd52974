#include "session/arena/charged_parts.h"

#include <algorithm>
#include <iterator>

namespace stowage::session {
namespace {

constexpr std::uint64_t kUnit = kGranule.value();

auto at(std::vector<bool>& bits, std::uint64_t index) {
  return std::next(bits.begin(), static_cast<std::ptrdiff_t>(index));
}

}  // namespace

void ChargedParts::begin(RetirableArena& arena) {
  const std::lock_guard lock(mutex_);
  arena_ = &arena;
  counted_.assign((arena.mapped().value() + kUnit - 1) / kUnit, arena.charged() >= arena.committed());
}

std::uint64_t ChargedParts::counted_in(std::uint64_t first, std::uint64_t last) const {
  const auto from = std::next(counted_.begin(), static_cast<std::ptrdiff_t>(first));
  const auto to = std::next(counted_.begin(), static_cast<std::ptrdiff_t>(last));
  return static_cast<std::uint64_t>(std::count(from, to, true));
}

bool ChargedParts::add(std::uint64_t offset, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = offset / kUnit;
  const std::uint64_t last = (offset + bytes.value() + kUnit - 1) / kUnit;
  if (last > counted_.size()) counted_.resize(last, false);
  const std::uint64_t missing = last - first - counted_in(first, last);
  if (missing == 0) return true;
  if (!arena_->charge(arena_->charged() + Bytes(missing * kUnit))) return false;
  std::fill(at(counted_, first), at(counted_, last), true);
  return true;
}

bool ChargedParts::add_all() {
  const std::lock_guard lock(mutex_);
  if (!arena_->charge(arena_->committed())) return false;
  counted_.assign((arena_->mapped().value() + kUnit - 1) / kUnit, true);
  return true;
}

Bytes ChargedParts::forget(std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = (begin + kUnit - 1) / kUnit;
  const std::uint64_t last = std::min<std::uint64_t>(end / kUnit, counted_.size());
  if (first >= last) return Bytes(0);
  const Bytes counted(counted_in(first, last) * kUnit);
  std::fill(at(counted_, first), at(counted_, last), false);
  return counted;
}

void ChargedParts::give(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  arena_->uncharge(arena_->charged() - bytes);
}

}  // namespace stowage::session
