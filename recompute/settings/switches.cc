#include "recompute/settings/switches.h"

#include <ATen/Context.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace stowage::recompute {
namespace {

using Bits = std::uint64_t;

// Which ops obey a setting; a set of bits.
enum Reach : std::uint8_t {
  kAllOps = 1,
  kCpuOps = 2,
  kCudaOps = 4,
  kCpuProducts = 8,
  kCudaProducts = 16,
  kAttention = 32,
};

struct Switch {
  const char* setter;
  Reach reach;
  std::uint8_t width;  // in bits
  Bits (*get)(at::Context&);
  void (*set)(at::Context&, Bits);
};

#define STOWAGE_FLAG(setter, getter, reach)                                                          \
  Switch {                                                                                           \
#setter, reach, 1,                                                                               \
        [](at::Context &                                                                             \
           context) { return Bits(context.getter()); }, [](at::Context & context,                    \
                                                           Bits bits) { context.setter(bits != 0); } \
  }

// The same for a setting that only newer torches have; in others its bit is 0.
#define STOWAGE_NEWER_FLAG(setter, getter, reach)                                              \
  Switch {                                                                                     \
#setter, reach, 1, [](auto &context) -> Bits {                                               \
      if constexpr (requires { context.getter(); }) return Bits(context.getter());            \
      return 0; }, [](auto &context, Bits bits) {                                              \
      if constexpr (requires { context.setter(true); }) context.setter(bits != 0); } \
  }

Bits reduction_bits(at::CuBLASReductionOption option) { return static_cast<Bits>(option); }
bool reduces(Bits bits) {
  return bits == reduction_bits(at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK);
}
bool splits(Bits bits) {
  return bits != reduction_bits(at::CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK);
}

constexpr unsigned kBackendBits = 4;  // of one of attention's kernels in their order

constexpr std::array kSwitches = {
    Switch{"setDeterministicAlgorithms", kAllOps, 2,
           [](at::Context& context) {
             return Bits(context.deterministicAlgorithms()) | Bits(context.deterministicAlgorithmsWarnOnly())
                                                                  << 1u;
           },
           [](at::Context& context, Bits bits) {
             context.setDeterministicAlgorithms((bits & 1u) != 0, (bits & 2u) != 0);
           }},
    STOWAGE_FLAG(setDeterministicFillUninitializedMemory, deterministicFillUninitializedMemory, kAllOps),
    STOWAGE_FLAG(setUserEnabledMkldnn, userEnabledMkldnn, kCpuOps),
    STOWAGE_FLAG(setDeterministicMkldnn, deterministicMkldnn, kCpuOps),
    STOWAGE_FLAG(setUserEnabledNNPACK, userEnabledNNPACK, kCpuProducts),
    STOWAGE_FLAG(setAllowFP16ReductionCPU, allowFP16ReductionCPU, kCpuProducts),
    STOWAGE_FLAG(setUserEnabledCuDNN, userEnabledCuDNN, kCudaOps),
    STOWAGE_FLAG(setDeterministicCuDNN, deterministicCuDNN, kCudaOps),
    STOWAGE_FLAG(setBenchmarkCuDNN, benchmarkCuDNN, kCudaOps),
    Switch{"setBenchmarkLimitCuDNN", kCudaProducts, 16,
           [](at::Context& context) { return Bits(context.benchmarkLimitCuDNN()) & 0xffffu; },
           [](at::Context& context, Bits bits) { context.setBenchmarkLimitCuDNN(static_cast<int>(bits)); }},
    Switch{"setLinalgPreferredBackend", kCudaProducts, 4,
           [](at::Context& context) { return static_cast<Bits>(context.linalgPreferredBackend()); },
           [](at::Context& context, Bits bits) {
             context.setLinalgPreferredBackend(static_cast<at::LinalgBackend>(bits));
           }},
    Switch{"setBlasPreferredBackend", kCudaProducts, 4,
           [](at::Context& context) { return static_cast<Bits>(context.blasPreferredBackend()); },
           [](at::Context& context, Bits bits) {
             context.setBlasPreferredBackend(static_cast<at::BlasBackend>(bits));
           }},
    Switch{"setAllowFP16ReductionCuBLAS", kCudaProducts, 2,
           [](at::Context& context) { return reduction_bits(context.allowFP16ReductionCuBLAS()); },
           [](at::Context& context, Bits bits) {
             context.setAllowFP16ReductionCuBLAS(reduces(bits), splits(bits));
           }},
    Switch{"setAllowBF16ReductionCuBLAS", kCudaProducts, 2,
           [](at::Context& context) { return reduction_bits(context.allowBF16ReductionCuBLAS()); },
           [](at::Context& context, Bits bits) {
             context.setAllowBF16ReductionCuBLAS(reduces(bits), splits(bits));
           }},
    STOWAGE_NEWER_FLAG(setAllowNativeAot, allowNativeAot, kAllOps),
    STOWAGE_NEWER_FLAG(setMaskUnconditionalNativeAot, maskUnconditionalNativeAot, kAllOps),
    Switch{"setCuDNNDepthwiseKernel", kCudaProducts, 2,
           [](auto& context) -> Bits {
             if constexpr (requires { context.cudnnDepthwiseKernel(); })
               return static_cast<Bits>(context.cudnnDepthwiseKernel());
             return 0;
           },
           [](auto& context, Bits bits) {
             if constexpr (requires { context.cudnnDepthwiseKernel(); })
               context.setCuDNNDepthwiseKernel(static_cast<decltype(context.cudnnDepthwiseKernel())>(bits));
           }},
    STOWAGE_NEWER_FLAG(setPreferCublasltGroupedGemm, preferCublasltGroupedGemm, kCudaProducts),
    STOWAGE_FLAG(setAllowFP16AccumulationCuBLAS, allowFP16AccumulationCuBLAS, kCudaProducts),
    Switch{"_setSMCarveout_EXPERIMENTAL", kCudaProducts, 16,
           [](at::Context& context) {
             return Bits(context._SMCarveout_EXPERIMENTAL().value_or(-1) + 1) & 0xffffu;
           },
           [](at::Context& context, Bits bits) {
             context._setSMCarveout_EXPERIMENTAL(
                 bits == 0 ? std::nullopt : std::optional<std::int32_t>(static_cast<std::int32_t>(bits) - 1));
           }},
    STOWAGE_FLAG(setSDPUseFlash, userEnabledFlashSDP, kAttention),
    STOWAGE_FLAG(setSDPUseFA3, userEnabledFA3SDP, kAttention),
    STOWAGE_NEWER_FLAG(setSDPUseFA4, userEnabledFA4SDP, kAttention),
    STOWAGE_FLAG(setSDPUseMemEfficient, userEnabledMemEfficientSDP, kAttention),
    STOWAGE_FLAG(setSDPUseMath, userEnabledMathSDP, kAttention),
    STOWAGE_FLAG(setSDPUseCuDNN, userEnabledCuDNNSDP, kAttention),
    STOWAGE_FLAG(setSDPUseOverrideable, userEnabledOverrideableSDP, kAttention),
    STOWAGE_FLAG(setAllowFP16BF16ReductionMathSDP, allowFP16BF16ReductionMathSDP, kAttention),
    Switch{"setSDPPriorityOrder", kAttention, kBackendBits* at::num_sdp_backends,
           [](at::Context& context) {
             Bits bits = 0;
             for (const at::SDPBackend one : context.sDPPriorityOrder())
               bits = bits << kBackendBits | (static_cast<Bits>(one) & 0xfu);
             return bits;
           },
           [](at::Context& context, Bits bits) {
             std::vector<std::int64_t> order(at::num_sdp_backends);
             for (auto one = order.rbegin(); one != order.rend(); ++one, bits >>= kBackendBits)
               *one = static_cast<std::int64_t>(bits & 0xfu);
             context.setSDPPriorityOrder(order);
           }},
};

#undef STOWAGE_FLAG
#undef STOWAGE_NEWER_FLAG

constexpr unsigned reach_of(Products products, bool cuda) {
  unsigned reach = kAllOps | (cuda ? kCudaOps : kCpuOps);
  if (products != Products::kNone) reach |= cuda ? kCudaProducts : kCpuProducts;
  if (products == Products::kAttention) reach |= kAttention;
  return reach;
}

// Where the bits of the setting `at` lie for ops that obey `reach`. Attention's own are in the second word.
constexpr std::size_t word_of(std::size_t at) { return kSwitches[at].reach == kAttention ? 1 : 0; }
constexpr unsigned shift_of(std::size_t at, unsigned reach) {
  unsigned shift = 0;
  for (std::size_t i = 0; i < at; ++i) {
    if ((kSwitches[i].reach & reach) != 0 && word_of(i) == word_of(at)) shift += kSwitches[i].width;
  }
  return shift;
}

// Asked at each op: the compiler makes straight code of the table.
template <unsigned kReach, std::size_t... kAt>
Switches read(at::Context& context, std::index_sequence<kAt...>) {
  Switches now{};
  const auto add = [&]<std::size_t kOne>() {
    if constexpr ((kSwitches[kOne].reach & kReach) != 0)
      now[word_of(kOne)] |= kSwitches[kOne].get(context) << shift_of(kOne, kReach);
  };
  (add.template operator()<kAt>(), ...);
  return now;
}

template <Products kProducts>
Switches read(bool cuda) {
  constexpr auto kAll = std::make_index_sequence<kSwitches.size()>();
  at::Context& context = at::globalContext();
  return cuda ? read<reach_of(kProducts, true)>(context, kAll)
              : read<reach_of(kProducts, false)>(context, kAll);
}

}  // namespace

Switches present_switches(Obeyed obeyed) {
  switch (obeyed.products) {
    case Products::kNone:
      return read<Products::kNone>(obeyed.cuda);
    case Products::kAttention:
      return read<Products::kAttention>(obeyed.cuda);
    default:
      return read<Products::kMatrix>(obeyed.cuda);  // each other kind obeys the same
  }
}

void change_switches(const Switches& from, const Switches& to, Obeyed obeyed) {
  at::Context& context = at::globalContext();
  const unsigned reach = reach_of(obeyed.products, obeyed.cuda);
  for (std::size_t i = 0; i < kSwitches.size(); ++i) {
    if ((kSwitches[i].reach & reach) == 0) continue;
    const Bits mask = ((Bits{1} << kSwitches[i].width) - 1) << shift_of(i, reach);
    const Bits wanted = to[word_of(i)] & mask;
    if (wanted != (from[word_of(i)] & mask)) kSwitches[i].set(context, wanted >> shift_of(i, reach));
  }
}

std::string text_of(const Switches& switches, Obeyed obeyed) {
  static at::Context untouched;  // has the defaults
  const unsigned reach = reach_of(obeyed.products, obeyed.cuda);
  std::string text;
  for (std::size_t i = 0; i < kSwitches.size(); ++i) {
    if ((kSwitches[i].reach & reach) == 0) continue;
    const Bits mask = (Bits{1} << kSwitches[i].width) - 1;
    const Bits value = switches[word_of(i)] >> shift_of(i, reach) & mask;
    if (value == kSwitches[i].get(untouched)) continue;
    text += (text.empty() ? "" : ", ") + std::string(kSwitches[i].setter) + " = " + std::to_string(value);
  }
  return text;
}

const char* name_of_switch(std::size_t at) { return at < kSwitches.size() ? kSwitches[at].setter : nullptr; }

}  // namespace stowage::recompute
