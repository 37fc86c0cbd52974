#include "session/planned/search_allowance.h"

#include <algorithm>
#include <utility>

#include "session/plans/plan_book.h"

namespace stowage::session {

SearchAllowance::SearchAllowance(const double& most_s, Clock now)
    : most_s_(most_s), now_(std::move(now)), begun_(now_()) {}

std::optional<double> SearchAllowance::grant(double worth) {
  rest();
  const double share = worth > kMuch ? kShareForMuch : kShare;
  const double ran = ran_s(), patience = ran * share - spent_s_;
  const double least = worth <= PlanBook::kGoodEnough ? most_s_ : std::min(most_s_, kLeastSeconds);
  if (patience < most_s_) due_s_ = std::max(2 * ran, (spent_s_ + least) / share);
  if (patience < least) return std::nullopt;
  search_ = {ran, std::min(patience, most_s_)};
  return search_->most_s;
}

void SearchAllowance::end() {
  if (search_) spent_s_ += std::min(search_->most_s, ran_s() - search_->begun_s);
  search_.reset();
}

void SearchAllowance::rest() {
  end();
  due_s_.reset();
}

double SearchAllowance::ran_s() const { return std::chrono::duration<double>(now_() - begun_).count(); }

}  // namespace stowage::session
