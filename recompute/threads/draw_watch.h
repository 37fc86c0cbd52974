// Which draws of several threads from one generator overlap. Then the generator's state at the time of a draw
// is unknown, and the op cannot run again.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <algorithm>
#include <vector>

namespace stowage::recompute {

class DrawWatch {
 public:
  /// One op that draws, from before its generator's state is read to its end.
  struct Draw {
    const void* generator = nullptr;  ///< null: the op draws nothing
    const void* thread = nullptr;     ///< identified by the address of a variable of the thread
    bool alone = true;                ///< no other thread drew from the generator meanwhile
  };

  /// `draw` must stay where it is until end().
  void begin(Draw& draw, const void* generator) {
    thread_local const char here = 0;
    draw.generator = generator;
    draw.thread = &here;
    for (Draw* const other : running_) {
      if (other->generator == generator && other->thread != draw.thread) other->alone = draw.alone = false;
    }
    running_.push_back(&draw);
  }
  /// No effect without a begin().
  void end(Draw& draw) {
    if (draw.generator == nullptr) return;
    running_.erase(std::find(running_.begin(), running_.end(), &draw));
    draw.generator = nullptr;
  }

 private:
  std::vector<Draw*> running_;
};

}  // namespace stowage::recompute
