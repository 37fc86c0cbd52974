#include "core/plan.h"

#include <algorithm>

namespace stowage {
namespace {

Error invalid(const std::string& what) {
  return Error{ErrorCode::kInvalidPlan,
               "the plan is not valid: " + what + "; delete it and let the job be planned again"};
}

/// True if a slot of `rounded` bytes at `offset` lies within `height` on the granule.
bool slot_fits(Offset offset, Bytes rounded, Bytes height) {
  if (offset.value() % kGranule.value() != 0 || rounded > height) return false;
  return offset.value() <= (height - rounded).value();
}

/// The first broken rule of one entry, or nothing.
const char* complain_about_entry(const PlanEntry& entry, Bytes height) {
  if (entry.rounded.value() == 0) return "its size is 0";
  if (entry.rounded.value() % kGranule.value() != 0) return "its size is not a multiple of 512";
  if (entry.rounded > kMaxTotal) return "its size is more than 2^62 bytes";
  if (entry.stream.value() >= kMaxOrdinal) return "its stream is out of range";
  if (entry.offset == kUpstream)
    return entry.spare == kUpstream ? nullptr : "it has a spare slot, but no first one";
  if (!slot_fits(entry.offset, entry.rounded, height)) return "its slot is not on a granule within the arena";
  if (entry.spare == kUpstream) return nullptr;
  if (!slot_fits(entry.spare, entry.rounded, height))
    return "its spare slot is not on a granule within the arena";
  const Bytes apart = std::max(entry.offset, entry.spare) - std::min(entry.offset, entry.spare);
  return apart < entry.rounded ? "its two slots overlap" : nullptr;
}

/// One past the highest byte that an entry uses.
Bytes top_of(const PlanEntry& entry) {
  if (entry.offset == kUpstream) return Bytes(0);
  const Offset top = entry.spare == kUpstream ? entry.offset : std::max(entry.offset, entry.spare);
  return top + entry.rounded - Offset(0);
}

Status check_entries(const Plan& plan) {
  Bytes top{0};
  for (std::size_t index = 0; index < plan.entries.size(); ++index) {
    if (const char* complaint = complain_about_entry(plan.entries[index], plan.height)) {
      return invalid("entry " + std::to_string(index) + ": " + complaint);
    }
    top = std::max(top, top_of(plan.entries[index]));
  }
  if (top != plan.height) {
    return invalid("its height is " + std::to_string(plan.height.value()) +
                   " bytes, but its entries reach up to " + std::to_string(top.value()));
  }
  return {};
}

}  // namespace

Status Plan::validate() const {
  if (device > DeviceKind::kCuda) return invalid("its device kind is not known");
  if (entries.size() >= kNoBuffer.value()) return invalid("an index of its entries needs more than 32 bits");
  if (height > kMaxTotal) return invalid("its height is more than 2^62 bytes");
  if (lower_bound > height) return invalid("its lower bound is above its height");
  if (Status status = check_entries(*this); !status) return status;
  if (!std::is_sorted(inner_marks.begin(), inner_marks.end()))
    return invalid("its inner marks are not in order");
  if (!inner_marks.empty() && inner_marks.back() > entries.size())
    return invalid("an inner mark is past its entries");
  return {};
}

std::size_t opening_length(const std::vector<std::uint32_t>& history, std::uint32_t opening) {
  const auto last = std::find_if(history.rbegin(), history.rend(),
                                 [opening](std::uint32_t plan) { return plan < opening; });
  return static_cast<std::size_t>(history.rend() - last);
}

Bytes highest(const std::vector<Plan>& plans) {
  Bytes height{0};
  for (const Plan& plan : plans) height = std::max(height, plan.height);
  return height;
}

Bytes handed_on(const JointPlan& plans) {
  Bytes sum{0};
  const Plan& plan = plans.history.empty() ? plans.plans.front() : plans.plans[plans.history.back()];
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.crosses || entry.offset == kUpstream) continue;
    sum += entry.spare == kUpstream ? entry.rounded : entry.rounded + entry.rounded;
  }
  return sum;
}

Bytes least_handed_on(const JointPlan& plans) {
  Bytes least = Bytes::max();
  for (const Plan& plan : plans.plans) {
    Bytes sum{0};
    for (const PlanEntry& entry : plan.entries)
      if (entry.crosses && entry.offset != kUpstream) sum += entry.rounded;
    least = std::min(least, sum);
  }
  return least;
}

}  // namespace stowage
