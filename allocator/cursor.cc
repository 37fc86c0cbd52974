#include "allocator/cursor.h"

#include <algorithm>
#include <tuple>

#include "core/support/check.h"

namespace stowage::allocator {
namespace {

constexpr std::uint32_t kWindow = 16;           // entries to either side that rule 2 looks at
constexpr std::uint64_t kSharesOfSmall = 4096;  // of the plan's height
constexpr std::uint32_t kStep = 2;              // how near is near enough for one matching request
constexpr int kEnough = 3;                      // matching requests that settle a place
constexpr std::uint32_t kRare = 2;  // a beginning that looks like no more entries than this is worth a try
constexpr std::uint32_t kShareLeftOut = 4;  // of a plan, at a jump
constexpr std::size_t kTriplesTried = 64;   // places of one triple that are looked at

std::uint64_t mix(std::uint64_t hash, Request request) {
  // The finaliser of Murmur3 (Appleby, public domain), over both fields.
  hash ^= request.bytes + (static_cast<std::uint64_t>(request.stream) << 48);
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 33);
}

// The bit of Cursor::known_ that stands for a request, among 4096.
std::uint64_t known_bit(Request request) { return mix(0, request) >> 52; }

std::uint64_t hash_triple(Request first, Request second, Request third) {
  return mix(mix(mix(0, first), second), third);
}

}  // namespace

Cursor::Cursor(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) add(plan);
}

void Cursor::add(const Plan& plan) {
  Sequence& made = plans_.emplace_back();
  made.requests.reserve(plan.entries.size());
  for (const PlanEntry& entry : plan.entries) {
    made.requests.push_back({entry.rounded.value(), entry.stream.value()});
  }
  made.inner_marks = plan.inner_marks;
  small_ = std::max(small_, plan.height.value() / kSharesOfSmall);
  const auto number = static_cast<std::uint32_t>(plans_.size() - 1);
  if (!made.requests.empty()) {
    made.rare_beginning =
        std::count(made.requests.begin(), made.requests.end(), made.requests.front()) <= kRare;
  }
  for (std::uint32_t other = 0; other < number; ++other) {
    const std::vector<Request>& theirs = plans_[other].requests;
    const auto differs =
        std::mismatch(made.requests.begin(), made.requests.end(), theirs.begin(), theirs.end()).first;
    made.alike.push_back(static_cast<std::uint32_t>(differs - made.requests.begin()));
    if (made.requests.empty() || made.requests != theirs || plans_[other].twin) continue;
    made.twin = other;
    plans_[other].twin = number;
  }
  index(number);
}

void Cursor::index(std::uint32_t plan) {
  const std::vector<Request>& all = plans_[plan].requests;
  for (const Request request : all)
    known_[known_bit(request) / 64] |= std::uint64_t{1} << known_bit(request) % 64;
  for (std::uint32_t i = 2; i < all.size(); ++i) {
    triples_.push_back({hash_triple(all[i - 2], all[i - 1], all[i]), {plan, i}});
  }
  std::sort(triples_.begin(), triples_.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second.plan, a.second.entry) <
           std::tuple(b.first, b.second.plan, b.second.entry);
  });
}

// A Bloom filter of one hash (Bloom 1970): false is certain.
bool Cursor::may_be_known(Request request) const {
  return (known_[known_bit(request) / 64] >> known_bit(request) % 64 & 1) != 0;
}

std::uint32_t Cursor::length(std::uint32_t plan) const {
  return plan < plans_.size() ? static_cast<std::uint32_t>(plans_[plan].requests.size()) : 0;
}

bool Cursor::matches(Position at, Request request) const {
  return at.entry < length(at.plan) && plans_[at.plan].requests[at.entry] == request;
}

// How many of the latest requests, `request` included, match the entries up to `at`; at most kEnough.
int Cursor::evidence(Position at, Request request) const {
  if (!matches(at, request)) return 0;
  if (at.entry < 1 || !matches({at.plan, at.entry - 1}, latest_[0])) return 1;
  if (at.entry < 2 || !matches({at.plan, at.entry - 2}, latest_[1])) return 2;
  return kEnough;
}

void Cursor::advance_to(std::uint32_t entry) {
  STOWAGE_DCHECK(entry >= at_.entry && entry <= length(at_.plan), "the cursor only advances within its plan");
  const std::uint32_t passed = entry - at_.entry;
  if (passed == 0) return;
  const std::vector<Request>& all = plans_[at_.plan].requests;
  latest_[1] = passed > 1 ? all[entry - 2] : latest_[0];
  latest_[0] = all[entry - 1];
  at_.entry = entry;
  unmatched_ = 0;
  requests_ += passed;
  found_since_jump_ += passed;
  if (found_since_jump_ > kWindow) left_.reset();
}

std::optional<Position> Cursor::find(Request request) {
  std::optional<Position> found;
  bool still_clean = false;
  if (may_be_known(request)) {
    found = another_plan(request);
    still_clean = found.has_value();
    if (!found && !is_doubtful(request)) found = elsewhere(request);
  }
  remember(request);
  ++requests_;
  clean_ = still_clean || (found && found->entry == 0);
  if (found) {
    move_to(*found);
  } else {
    ++unmatched_;
  }
  return found;
}

std::optional<Position> Cursor::elsewhere(Request request) const {
  std::optional<Position> found;
  if (at_end()) found = beginning(request);
  if (!found) found = near(request);
  if (!found) found = beginning(request);
  if (!found) found = far(request);
  return found;
}

void Cursor::remember(Request request) {
  latest_[1] = latest_[0];
  latest_[0] = request;
}

void Cursor::move_to(Position found) {
  const bool stays_near = found.plan == at_.plan && distance(found.entry, at_.entry) <= kWindow;
  if (!stays_near) left_ = at_;
  found_since_jump_ = 0;
  if (found.entry == 0) {
    marks_seen_ = requests_ = 0;
    turned_ = false;
  }
  unmatched_ = 0;
  at_ = {found.plan, found.entry + 1};
}

// Rule 1. The plan used last wins, as the likeliest.
std::optional<Position> Cursor::another_plan(Request request) const {
  std::optional<Position> found;
  if (!clean_) return found;
  for (std::uint32_t plan = 0; plan < plans_.size(); ++plan) {
    if (plan == at_.plan || !matches({plan, at_.entry}, request)) continue;
    if (found && plans_[found->plan].last_used >= plans_[plan].last_used) continue;
    if (common_beginning(plan, at_.plan) >= at_.entry) found = Position{plan, at_.entry};
  }
  return found;
}

std::uint32_t Cursor::common_beginning(std::uint32_t one, std::uint32_t other) const {
  return one > other ? plans_[one].alike[other] : plans_[other].alike[one];
}

bool Cursor::may_follow(std::uint32_t plan, Position at) const {
  if (turned_ && are_twins(plan, at.plan)) return false;
  return clean_ && plan != at.plan && common_beginning(plan, at.plan) > at.entry;
}

void Cursor::follow(std::uint32_t plan) {
  turned_ = turned_ || are_twins(plan, at_.plan);
  at_.plan = plan;
}

bool Cursor::are_twins(std::uint32_t one, std::uint32_t other) const { return plans_[one].twin == other; }

// Not for ever: a job may have found another beginning.
bool Cursor::doubts() const {
  return unmatched_ != 0 && at_.entry < kBeginning && unmatched_ < length(at_.plan) / 2;
}

// Between two iterations a job may copy its weights. Most of them are small, as are many of the plan's
// entries, and a copy that took such a place would block large ones permanently.
bool Cursor::is_doubtful(Request request) const {
  return (doubts() || at_.entry == 0) && request.bytes < small_;
}

bool Cursor::expects(Request request) const {
  return matches(at_, request) && !(doubts() && request.bytes < small_);
}

// Rule 2, around one place: `middle` is the entry that was expected. After m requests in a row that were not
// found, the job may stand there still (they were more) or m entries on (they came instead of the planned
// ones).
void Cursor::look_around(Position middle, Request request, Candidate& best) const {
  const std::uint32_t size = length(middle.plan);
  const std::uint32_t low = middle.entry > kWindow ? middle.entry - kWindow : 0;
  // More than a window of requests that were not found say nothing about how far the job is.
  const std::uint32_t diagonal = middle.entry + (unmatched_ <= kWindow ? unmatched_ : 0);
  const std::uint32_t high = std::min(size, diagonal + kWindow + 1);
  for (std::uint32_t entry = low; entry < high; ++entry) {
    const int matched = evidence({middle.plan, entry}, request);
    if (matched == 0) continue;
    const std::uint32_t away = std::min(distance(entry, middle.entry), distance(entry, diagonal));
    if (away > kWindow || (matched == 1 && away > kStep)) continue;
    // Evidence first, then nearness, then forward: an allocation fewer is likelier than a step back.
    const int score = matched * 64 - static_cast<int>(2 * away) + (entry >= middle.entry ? 1 : 0);
    if (score > best.score) best = {{middle.plan, entry}, score};
  }
}

std::optional<Position> Cursor::near(Request request) const {
  Candidate best;
  look_around(at_, request, best);
  if (left_) look_around(*left_, request, best);
  if (best.score == 0) return std::nullopt;
  return best.at;
}

// Rule 3. What was cut short is likeliest to begin again; what it left may lie where one of two twins has it,
// so then it is the other one's turn. Else the plan used last.
std::optional<Position> Cursor::beginning(Request request) const {
  if (plans_.empty()) return std::nullopt;
  std::optional<Position> found = beginning_of(twin_of(at_.plan), request);
  if (found) return found;
  for (std::uint32_t plan = 0; plan < plans_.size(); ++plan) {
    if (found && plans_[found->plan].last_used >= plans_[plan].last_used) continue;
    if (const std::optional<Position> first = beginning_of(plan, request)) found = first;
  }
  return found;
}

// One request is enough where the first entry is rare; else the first two.
std::optional<Position> Cursor::beginning_of(std::uint32_t plan, Request request) const {
  if (matches({plan, 0}, request) && (plans_[plan].rare_beginning || at_end())) return Position{plan, 0};
  if (evidence({plan, 1}, request) >= 2) return Position{plan, 1};
  return std::nullopt;
}

// Rule 4. The nearest place ahead in the current plan, else the nearest behind, else one of another plan.
std::optional<Position> Cursor::far(Request request) const {
  const std::uint64_t hash = hash_triple(latest_[1], latest_[0], request);
  auto it = std::lower_bound(triples_.begin(), triples_.end(), hash,
                             [](const auto& triple, std::uint64_t wanted) { return triple.first < wanted; });
  std::optional<Position> found;
  std::uint64_t found_cost = 0;
  for (std::size_t tried = 0; tried < kTriplesTried && it != triples_.end() && it->first == hash;
       ++tried, ++it) {
    const Position at = it->second;
    if (at.entry > requests_ + length(at.plan) / kShareLeftOut) continue;
    if (evidence(at, request) < kEnough) continue;
    std::uint64_t cost = distance(at.entry, at_.entry);
    if (at.plan != at_.plan) {
      cost += std::uint64_t{2} << 32;
    } else if (at.entry < at_.entry) {
      cost += std::uint64_t{1} << 32;
    }
    if (!found || cost < found_cost) {
      found = at;
      found_cost = cost;
    }
  }
  return found;
}

}  // namespace stowage::allocator
