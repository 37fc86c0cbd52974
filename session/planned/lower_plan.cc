#include "session/planned/lower_plan.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "allocator/arena/backend.h"
#include "session/settings/notice.h"

namespace stowage::session {

Bytes LowerPlan::in_pages(Bytes height) const { return allocator::round_up_to(height, port_.arena_page()); }

void LowerPlan::ask(const Plan& plan) {
  if (budget_.on() || guard_.trusts_plan() || in_pages(plan.lower_bound) >= in_pages(plan.height)) return;
  if (const std::shared_ptr<const Trace> trace = facts_.trace()) plans_.make_lower(*trace);
}

bool LowerPlan::take() {
  if (!plans_.makes_lower()) return false;
  std::optional<Result<Plan>> made = plans_.poll(std::chrono::milliseconds(0));
  if (!made || !made->ok() || plans_.count_in_use() != 1 || !port_.may_wait()) return false;
  const Bytes height = (*made)->height;
  if (arena_.mapped() <= in_pages(height)) return false;
  if (height >= plans_.last().height || !arena_.allocator().replace_plans({**made})) return false;
  plans_.use_only(**made);
  facts_.add_plan(**made, /*first=*/true);
  arena_.allocator().decommit_idle(Offset(height.value()));
  arena_.watch_memory(true);
  guard_.settle_anew();
  note(1, "a lower placement is used: " + std::to_string(height.value()) + " bytes");
  return true;
}

}  // namespace stowage::session
