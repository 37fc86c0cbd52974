#include "planner/placement/search/hunt.h"

#include <algorithm>

#include "core/support/extremes.h"
#include "planner/placement/instance/portfolio.h"

namespace stowage::planner::placement::search {
namespace {

/// Those of the `member`th of `members` that share the restarts of one view.
SearchOptions member_options(const SearchOptions& base, std::uint32_t member, std::uint32_t members) {
  SearchOptions options = base;
  options.reversed = base.reversed != (member / 2 % 2 == 1);
  options.first_restart = base.first_restart + member * base.restart_stride;
  options.restart_stride = base.restart_stride * members;
  return options;
}

}  // namespace

Views::Views(const Instance& instance, bool with_glue, const Limits& limits)
    : whole{build_model(instance, false, limits), build_model(instance, true, limits)} {
  if (!with_glue || limits.stopped()) return;
  Glued parts = glue(instance, limits);
  if (limits.stopped() || parts.members.size() == instance.pieces.size()) return;
  glued = std::move(parts);
  of_glued = {build_model(glued->instance, false, limits), build_model(glued->instance, true, limits)};
}

Hunt::Hunt(const Instance& instance, const Views& views, std::uint64_t capacity,
           const PortfolioOptions& options, const Limits& limits)
    : instance_(&instance), options_(&options), capacity_(capacity), views_(&views) {
  for (std::uint32_t i = 0; i < options.members && (i == 0 || !limits.stopped()); ++i) {
    const bool glued = views.glued.has_value() && options.members > 1 &&
                       i % 3 == 0;  // the cheaper first, the whole more often
    const SearchOptions member = member_options(options.search, i, options.members);
    const Twins& twins = glued ? views.of_glued : views.whole;
    const Model& model = member.reversed ? twins.backward : twins.forward;
    members_.push_back(
        {std::make_unique<Restarts>(model, static_cast<Units>(capacity / model.unit), member), glued});
  }
}

void Hunt::write(Draft& draft) const {
  const Member& winner = members_[winner_];
  winner.search->write(winner.glued ? views_->glued->instance : *instance_, draft);
  if (winner.glued) draft = unglue(*instance_, *views_->glued, draft);
}

Outcome Hunt::run(std::uint64_t budget, const Limits& limits, std::uint64_t& work) {
  const std::uint64_t end = work + budget;
  while (work < end && !limits.over()) {
    const Outcome outcome = round(std::max<std::uint64_t>((end - work) / members_.size(), 1), limits, work);
    if (outcome != Outcome::kOut) return outcome;
  }
  return Outcome::kOut;
}

Outcome Hunt::round(std::uint64_t share, const Limits& limits, std::uint64_t& work) {
  Race race{std::numeric_limits<std::uint32_t>::max()};
  std::vector<Outcome> outcomes(members_.size(), Outcome::kOut);
  std::vector<std::uint64_t> used(members_.size(), 0);
  for_each_rank(static_cast<std::uint32_t>(members_.size()), options_->threads, [&](std::uint32_t rank) {
    Member& member = members_[rank];
    if (race.load() < rank || member.done) return;
    WorkMeter meter(limits, share, race, rank);
    outcomes[rank] = member.search->next(meter);
    used[rank] = meter.used();
    if (member.glued && outcomes[rank] == Outcome::kInfeasible) {
      member.done = true;
      outcomes[rank] = Outcome::kOut;
    }
    if (outcomes[rank] != Outcome::kOut) lower_to(race, rank, std::memory_order_seq_cst);
  });
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    work += used[rank];
    if (outcomes[rank] == Outcome::kOut) continue;
    winner_ = rank;
    return outcomes[rank];
  }
  return Outcome::kOut;
}

}  // namespace stowage::planner::placement::search
