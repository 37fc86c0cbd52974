#include "core/kept_plans.h"

#include <algorithm>
#include <cstdio>

#include "core/support/mix.h"

namespace stowage {
namespace {

constexpr std::string_view kSuffix = ".stowplan";
constexpr std::size_t kDigits = 16;

/// Chains words and texts; a text's length keeps neighbours apart.
class Hash {
 public:
  void add(std::uint64_t word) { state_ = mix((state_ ^ word) + kGoldenGamma); }
  void add(std::string_view text) {
    add(text.size());
    for (const char letter : text) add(static_cast<unsigned char>(letter));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = kGoldenGamma;
};

std::uint64_t hash_of(const PlanContext& context) {
  Hash hash;
  hash.add(kKeptPlansVersion);
  hash.add(static_cast<std::uint64_t>(context.device));
  hash.add(context.device_name);
  hash.add(context.device_memory.value());
  hash.add(context.torch_version);
  hash.add(context.budget);
  hash.add(context.world_size);
  hash.add(context.backend);
  return hash.value();
}

std::string hexadecimal(std::uint64_t number) {
  char text[kDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Status KeptPlans::validate() const {
  if (plans.empty() || plans.size() > kMostKeptPlans)
    return Error{ErrorCode::kInvalidPlan,
                 "1 to 64 plans are kept together, not " + std::to_string(plans.size())};
  for (const Plan& plan : plans) {
    if (plan.device != context.device)
      return Error{ErrorCode::kInvalidPlan, "a kept plan is for another kind of device than its context"};
    if (Status valid = plan.validate(); !valid) return valid;
  }
  std::uint32_t begun = 0;
  const auto is_wrong = [&](std::uint32_t kind) {
    return kind >= plans.size() || (kind < opening && kind != begun++);
  };
  if (opening >= plans.size() || std::any_of(history.begin(), history.end(), is_wrong) || begun != opening ||
      (opening != 0 && history.back() < opening))
    return Error{ErrorCode::kInvalidPlan, "the order of the kept plans names one that is not there"};
  return {};
}

std::string kept_plans_prefix(const PlanContext& context) {
  return std::string(to_string(context.device)) + "-" + hexadecimal(hash_of(context)) + "-";
}

std::string kept_plans_name(const PlanContext& context, std::uint64_t fingerprint) {
  return kept_plans_prefix(context) + hexadecimal(fingerprint) + std::string(kSuffix);
}

std::uint64_t hash_of_job(std::string_view command) {
  Hash hash;
  hash.add(command);
  return hash.value();
}

bool is_kept_plans_name(std::string_view name) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    const std::string_view device = to_string(kind);
    if (name.size() != device.size() + 2 * (kDigits + 1) + kSuffix.size()) continue;
    const std::string_view rest = name.substr(device.size());
    if (name.substr(0, device.size()) == device && rest[0] == '-' && rest[kDigits + 1] == '-' &&
        is_hexadecimal(rest.substr(1, kDigits)) && is_hexadecimal(rest.substr(kDigits + 2, kDigits)) &&
        rest.substr(2 * (kDigits + 1)) == kSuffix)
      return true;
  }
  return false;
}

}  // namespace stowage
