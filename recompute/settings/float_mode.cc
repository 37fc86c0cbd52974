#include "recompute/settings/float_mode.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <atomic>
#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace stowage::recompute {
namespace {

#if defined(__x86_64__)
constexpr FloatControl kRaised = 0x3f;  // exceptions that were raised: no mode
FloatControl control() { return _mm_getcsr() & ~kRaised; }
void set_control(FloatControl wanted) { _mm_setcsr((_mm_getcsr() & kRaised) | wanted); }
constexpr FloatControl kUsual = 0x1f80;
#elif defined(__aarch64__)
FloatControl control() { return static_cast<FloatControl>(__builtin_aarch64_get_fpcr()); }
void set_control(FloatControl wanted) { __builtin_aarch64_set_fpcr(wanted); }
constexpr FloatControl kUsual = 0;
#else
FloatControl control() { return static_cast<FloatControl>(std::fegetround()); }
void set_control(FloatControl wanted) { std::fesetround(static_cast<int>(wanted)); }
constexpr FloatControl kUsual = FE_TONEAREST;
#endif

std::atomic<bool> unusual_seen{false};

// The calling thread's pool as it was found last.
struct KnownPool {
  int threads = 0;
  FloatControl control = kUsual;
};
thread_local KnownPool known_pool;

bool has_pool() { return at::get_num_threads() > 1 && !at::in_parallel_region(); }

// Runs visit(thread, number) in each thread of the pool, the calling one (0) included. Only code inside
// libtorch reaches its pool: a loop over one number for each thread.
template <class Visit>
void in_each_thread(std::vector<std::int32_t>& numbers, Visit visit) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  at::Tensor shown = at::from_blob(numbers.data(), {count}, at::TensorOptions().dtype(at::kInt));
  auto iterator = at::TensorIteratorConfig()
                      .add_output(shown)
                      .check_all_same_dtype(false)
                      .resize_outputs(false)
                      .declare_static_shape(shown.sizes())
                      .build();
  auto* const first = numbers.data();
  iterator.for_each(
      [&](char** data, const std::int64_t* strides, std::int64_t columns, std::int64_t rows) {
        for (std::int64_t i = 0; i < columns * rows; ++i) {
          char* const at = data[0] + i % columns * strides[0] + i / columns * strides[1];
          auto* const number = reinterpret_cast<std::int32_t*>(at);
          visit(static_cast<std::size_t>(number - first), *number);
        }
      },
      /*grain_size=*/1);
}

FloatControl pool_control() {
  const int threads = at::get_num_threads();
  if (known_pool.threads == threads) return known_pool.control;
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(threads));
  in_each_thread(numbers,
                 [](std::size_t, std::int32_t& number) { number = static_cast<std::int32_t>(control()); });
  const bool alike = std::all_of(numbers.begin() + 1, numbers.end(),
                                 [&](std::int32_t number) { return number == numbers[1]; });
  known_pool = {threads, alike ? static_cast<FloatControl>(numbers[1]) : FloatMode::kMixed};
  return known_pool.control;
}

// Gives each thread but the calling one its mode of `wanted`, and `wanted` the modes that they had.
void exchange_pool(std::vector<FloatControl>& wanted) {
  std::vector<std::int32_t> numbers(wanted.begin(), wanted.end());
  in_each_thread(numbers, [](std::size_t thread, std::int32_t& number) {
    const FloatControl before = control();
    if (thread != 0) set_control(static_cast<FloatControl>(number));
    number = static_cast<std::int32_t>(before);
  });
  wanted.assign(numbers.begin(), numbers.end());
}

}  // namespace

FloatMode FloatMode::present() {
  const FloatControl caller = control();
  if (caller != kUsual) unusual_seen.store(true, std::memory_order_relaxed);
  if (!unusual_seen.load(std::memory_order_relaxed)) return {caller, caller};
  if (has_pool()) return {caller, pool_control()};
  known_pool = {};  // threads that are not needed end
  return {caller, caller};
}

UnderFloatMode::UnderFloatMode(FloatMode wanted) : caller_before_(control()) {
  if (unusual_seen.load(std::memory_order_relaxed) && has_pool()) {
    pool_before_.assign(static_cast<std::size_t>(at::get_num_threads()), wanted.pool);
    exchange_pool(pool_before_);
  }
  if (caller_before_ != wanted.caller) set_control(wanted.caller);
}

UnderFloatMode::~UnderFloatMode() {
  if (control() != caller_before_) set_control(caller_before_);
  if (!pool_before_.empty()) exchange_pool(pool_before_);
}

}  // namespace stowage::recompute
