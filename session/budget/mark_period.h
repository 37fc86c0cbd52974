// How many marks an iteration has under a schedule: two optimizers that step one after the other make two.
//
// A schedule is made of the ops between two marks. If it matches only every second (or third, …) time, the
// same ops come in between each time, and rescue has to make room for them, it covers a part of the job's
// iteration, and one for all of its marks is better. Ops that differ each time, or need no room, are those of
// other kinds of iterations.
//
// Thread safety: none; the conductor's.
#pragma once

#include <cstdint>
#include <utility>

#include "core/support/mix.h"

namespace stowage::session {

class MarkPeriod {
 public:
  static constexpr std::uint64_t kLongest = 8;  ///< marks

  /// A mark came. True: it ends an iteration.
  bool ends_iteration() {
    if (++in_period_ < marks_) return false;
    in_period_ = 0;
    return true;
  }
  [[nodiscard]] std::uint64_t marks() const { return marks_; }
  void set_marks(std::uint64_t marks) { marks_ = marks; }

  /// A schedule is followed from now on.
  void begin() { present_ = last_ = {}; }
  /// An iteration had other ops than the schedule, of this hash.
  void note_other(std::uint64_t ops_hash, bool needed_room) {
    present_.hash = mix((present_.hash ^ ops_hash) + kGoldenGamma);
    present_.needed_room = present_.needed_room || needed_room;
    ++present_.others;
  }
  /// An iteration followed the schedule to its end. True: iterations have more marks than it was believed.
  bool note_followed() {
    const Between between = std::exchange(present_, {});
    const bool again = between == std::exchange(last_, between);
    const std::uint64_t longer = marks_ * (between.others + 1);
    if (between.others == 0 || !again || !between.needed_room || longer > kLongest) return false;
    marks_ = longer;
    return true;
  }

 private:
  /// What came between two iterations that followed the schedule.
  struct Between {
    std::uint64_t others = 0;
    std::uint64_t hash = 0;
    bool needed_room = false;
    bool operator==(const Between&) const = default;
  };

  std::uint64_t marks_ = 1;
  std::uint64_t in_period_ = 0;  ///< marks since an iteration began
  Between present_;
  Between last_;
};

}  // namespace stowage::session
