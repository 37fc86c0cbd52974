#include "recompute/switches.h"

#include <ATen/Context.h>

#include <optional>
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

Bits reduction_bits(at::CuBLASReductionOption option) { return static_cast<Bits>(option); }
bool reduces(Bits bits) {
  return bits == reduction_bits(at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK);
}
bool splits(Bits bits) {
  return bits != reduction_bits(at::CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK);
}

constexpr unsigned kBackendBits = 4;  // of one of attention's kernels in their order

const std::array kSwitches = {
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

unsigned reach_of(Obeyed obeyed) {
  unsigned reach = kAllOps | (obeyed.cuda ? kCudaOps : kCpuOps);
  if (obeyed.products != Products::kNone) reach |= obeyed.cuda ? kCudaProducts : kCpuProducts;
  if (obeyed.products == Products::kAttention) reach |= kAttention;
  return reach;
}

// A setting that an op obeys, and where its bits lie.
struct Position {
  const Switch* setting;
  std::size_t word;
  unsigned shift;
};

// Attention's own settings are in the second word.
std::vector<Position> positions_for(Obeyed obeyed) {
  const unsigned reach = reach_of(obeyed);
  std::array<unsigned, 2> used{};
  std::vector<Position> positions;
  for (const Switch& one : kSwitches) {
    if ((one.reach & reach) == 0) continue;
    const std::size_t word = one.reach == kAttention ? 1 : 0;
    positions.push_back({&one, word, used[word]});
    used[word] += one.width;
  }
  return positions;
}

// Found out once: asked at each op.
const std::vector<Position>& known_positions_for(Obeyed obeyed) {
  constexpr std::size_t kKinds = static_cast<std::size_t>(Products::kAttention) + 1;
  static const auto known = [] {
    std::array<std::array<std::vector<Position>, kKinds>, 2> all;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (const bool cuda : {false, true})
        all[cuda ? 1 : 0][kind] = positions_for({static_cast<Products>(kind), cuda});
    }
    return all;
  }();
  return known[obeyed.cuda ? 1 : 0][static_cast<std::size_t>(obeyed.products)];
}

}  // namespace

Switches present_switches(Obeyed obeyed) {
  at::Context& context = at::globalContext();
  Switches now{};
  for (const auto& [setting, word, shift] : known_positions_for(obeyed))
    now[word] |= setting->get(context) << shift;
  return now;
}

void change_switches(const Switches& from, const Switches& to, Obeyed obeyed) {
  at::Context& context = at::globalContext();
  for (const auto& [setting, word, shift] : known_positions_for(obeyed)) {
    const Bits mask = (Bits{1} << setting->width) - 1;
    const Bits wanted = to[word] >> shift & mask;
    if (wanted != (from[word] >> shift & mask)) setting->set(context, wanted);
  }
}

const char* name_of_switch(std::size_t at) { return at < kSwitches.size() ? kSwitches[at].setter : nullptr; }

}  // namespace stowage::recompute
