// Where in its plans a job is: aligns the incoming sequence of requests with the sequences that were
// planned.
//
// The hot path compares a request with the next entry by itself. Everything else is here: which entry a
// request that does not match stands for, which plan an iteration follows, what a mark means. An answer is a
// guess about the job and never a claim about memory: whether the entry's slot is free is checked by whoever
// serves it.
//
// The rules, for a request that is not the next of the plan, in this order:
//   1. The iteration matched the plan so far, and another plan begins alike and has the request next: follow
//      that one.
//   2. Near: an entry around the cursor (or around where the last far jump left), by how many of the latest
//      requests match up to it. One is enough next to the cursor (an allocation fewer, another size), two
//      within kWindow.
//   3. A plan's beginning, that of the current plan before others': iterations that were cut short (an
//      exception, an evaluation that runs the forward part only). Before rule 2 when the plan is at its end.
//   4. Far: an entry with the last three requests matching up to it; none that the iteration would have to
//      leave out a quarter of its plan for.
//   Otherwise the request is not in the plan (an allocation more) and the cursor stays.
//
// Between two iterations a job may copy its weights, in sizes that the plan has too, for gradients or for the
// optimizer's scratch. So once a request at an iteration's beginning is not the plan's, small ones (below a
// 4096th of the plan) do not tell where the job is: rules 2 to 4 are for the others.
//
// Two plans for the same requests are twins (planner/kinds/twins.h): each time their kind comes it is the
// other one's turn. Where that guess is wrong, the first place in use says so, and the iteration stays with
// the other.
//
// Thread safety: none. Invariant: position() names a plan and an entry of it or its end, if there is any
// plan.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "core/support/kind_history.h"

namespace stowage::allocator {

/// What the job asks for, as far as plans are concerned.
struct Request {
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  friend bool operator==(const Request&, const Request&) = default;
};

/// An entry of a plan; `entry` may be one past the last.
struct Position {
  std::uint32_t plan = 0;
  std::uint32_t entry = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

class Cursor {
 public:
  /// Begins at the beginning of the first plan.
  explicit Cursor(const std::vector<Plan>& plans);

  [[nodiscard]] Position position() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_.entry >= length(at_.plan); }
  /// `request` stands for the next entry.
  [[nodiscard]] bool expects(Request request) const;
  /// A request like the next entry may still be another one: call expects() or find() for each.
  [[nodiscard]] bool doubts() const;

  /// Notes that the entries up to `entry` of the current plan were requested in their order.
  void advance_to(std::uint32_t entry);
  /// Finds the entry that `request` stands for and moves past it; nullopt: it is in no plan and the cursor
  /// stays. Requires: !expects(request).
  std::optional<Position> find(Request request);
  /// The entry of `plan` that the request for `at` may equally stand for: the iteration matched the plan of
  /// `at` so far, and `plan` begins the same up to and including `at`. Requires: at is the entry just passed.
  [[nodiscard]] bool may_follow(std::uint32_t plan, Position at) const;
  /// The plan that takes turns with `plan`, or itself.
  [[nodiscard]] std::uint32_t twin_of(std::uint32_t plan) const { return plans_[plan].twin.value_or(plan); }
  /// The plan that most likely follows the present one, where the iteration ends as planned.
  [[nodiscard]] std::uint32_t likely_next() const;
  /// Follows `plan` from here on. Requires: may_follow(plan, the entry just passed).
  void follow(std::uint32_t plan);
  /// A mark of the job. True if it ends the iteration: the cursor is then at the beginning of the plan that
  /// followed most often after the longest stretches of past iterations like the latest ones. False: at an
  /// entry that follows an inner mark.
  bool mark();
  /// More plans, after those that are there. The position stays.
  void add(const Plan& plan);
  /// The plans of the latest iterations, oldest first.
  [[nodiscard]] const std::vector<std::uint32_t>& history() const { return history_.kinds(); }
  /// Goes to the beginning of the plan that should follow after `history`. Requires: no iteration has begun,
  /// and all are plans.
  void foresee(const std::vector<std::uint32_t>& history);
  /// The plans of the next iterations, in this order, for as long as it comes true. Requires: as foresee().
  void expect(std::vector<std::uint32_t> coming);

 private:
  static constexpr std::uint32_t kBeginning = 8;  ///< entries of a plan

  struct Sequence {
    std::vector<Request> requests;
    std::vector<std::uint32_t> inner_marks;
    std::vector<std::uint32_t> alike;   ///< for each plan before this one: length of the common beginning
    std::uint64_t last_used = 0;        ///< number of the last iteration that it served
    bool rare_beginning = false;        ///< few entries look like the first
    std::optional<std::uint32_t> twin;  ///< a plan for the same requests, which takes turns with this one
  };
  struct Candidate {
    Position at;
    int score = 0;
  };

  static std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; }
  [[nodiscard]] std::uint32_t length(std::uint32_t plan) const;
  [[nodiscard]] bool matches(Position at, Request request) const;
  [[nodiscard]] int evidence(Position at, Request request) const;
  [[nodiscard]] std::optional<Position> elsewhere(Request request) const;
  [[nodiscard]] std::optional<Position> another_plan(Request request) const;
  [[nodiscard]] bool are_twins(std::uint32_t one, std::uint32_t other) const;
  [[nodiscard]] std::uint32_t first_twin(std::uint32_t plan) const;
  [[nodiscard]] std::uint32_t whose_turn(std::uint32_t plan) const;
  [[nodiscard]] std::uint32_t common_beginning(std::uint32_t one, std::uint32_t other) const;
  [[nodiscard]] bool is_doubtful(Request request) const;
  void look_around(Position middle, Request request, Candidate& best) const;
  [[nodiscard]] std::optional<Position> near(Request request) const;
  [[nodiscard]] std::optional<Position> beginning(Request request) const;
  [[nodiscard]] std::optional<Position> beginning_of(std::uint32_t plan, Request request) const;
  [[nodiscard]] std::optional<Position> far(Request request) const;
  [[nodiscard]] std::optional<std::uint32_t> inner_mark() const;
  void move_to(Position found);
  void remember(Request request);
  [[nodiscard]] bool may_be_known(Request request) const;
  void index(std::uint32_t plan);
  [[nodiscard]] std::uint32_t plan_that_ended() const;
  void begin_iteration(std::uint32_t ended);
  [[nodiscard]] std::uint32_t predict(std::uint32_t ended);
  [[nodiscard]] bool came_as_told(std::uint32_t ended);

  std::vector<Sequence> plans_;
  std::vector<std::pair<std::uint64_t, Position>>
      triples_;                            ///< hash of three requests in a row, where the third stands
  std::array<std::uint64_t, 64> known_{};  ///< a bit for each hash of a planned request: most misses end here
  std::uint64_t small_ = 0;                ///< requests below these bytes are small
  Position at_;
  std::optional<Position> left_;     ///< where the last far jump came from, while that is recent
  std::array<Request, 2> latest_{};  ///< the two requests before the present one, latest first
  std::uint32_t unmatched_ = 0;      ///< requests since the last one that was found
  std::uint32_t requests_ = 0;  ///< of the iteration, or entries up to its last inner mark and those since
  std::uint32_t found_since_jump_ = 0;
  bool turned_ = false;                ///< the iteration was found to be the other twin's
  bool clean_ = true;                  ///< every request of the iteration so far was the next of the plan
  std::uint32_t marks_seen_ = 0;       ///< inner marks passed in this iteration
  KindHistory history_;                ///< the plans of the latest iterations, for twins the first one
  std::vector<std::uint32_t> coming_;  ///< what expect() was told
  std::size_t came_ = 0;               ///< iterations of these that came so far
  std::uint64_t iteration_ = 0;
};

}  // namespace stowage::allocator
