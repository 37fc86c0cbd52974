#include "session/planned/further_plans.h"

#include <optional>
#include <string>
#include <utility>

#include "session/plans/windows.h"
#include "session/settings/notice.h"

namespace stowage::session {

void FurtherPlans::begin(const Plan& first) {
  plans_.use_only(first);
  learner_.know_only(kind_of_iteration(first));
  facts_.add_plan(first, /*first=*/true);
}

void FurtherPlans::restart(bool others_evict) {
  learner_.begin();
  if (others_evict) learner_.close();
}

bool FurtherPlans::take(std::chrono::milliseconds wait) {
  if (!plans_.makes_further() || arena_.settles()) return false;
  std::optional<Result<Plan>> made = plans_.poll(wait);
  if (!made) return false;
  if (!made->ok()) {
    note(1, "no plan for a further kind of iteration: " + made->error().message);
    return false;
  }
  if (Status added = arena_.allocator().add_plan(**made); !added) {
    note(1, "a further plan does not fit into the arena: " + added.error().message);
    learner_.close();
    return false;
  }
  arena_.watch_memory(arena_.lacks_memory());
  plans_.use_beside(**made);
  facts_.add_plan(**made, /*first=*/false);
  note(1,
       "a further kind of iteration is planned: " + std::to_string((*made)->entries.size()) + " allocations");
  guard_.restart();
  if (plans_.count_in_use() >= settings_.max_plans) learner_.close();
  return true;
}

bool FurtherPlans::learn(bool missed) {
  bool taken = false;
  if (std::optional<Trace> trace = learner_.on_iteration(missed, is_making())) taken = ask(std::move(*trace));
  learner_.rest(missed, is_making());
  return taken;
}

bool FurtherPlans::ask(Trace trace) {
  if (!plans_.make_beside(std::move(trace))) {
    learner_.close();  // the plans we have stay as they are
    return false;
  }
  learner_.accept();
  return take(std::chrono::milliseconds(settings_.plan_wait_ms));
}

}  // namespace stowage::session
