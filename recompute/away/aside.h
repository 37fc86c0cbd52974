// Work of the runtime's own that happens while an op of the job runs, such as a copy that makes room for what
// the op allocates: its time is not the op's.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

namespace stowage::recompute {

class AsideWatch {
 public:
  virtual ~AsideWatch() = default;
  /// Such work begins on the calling thread, maybe inside other such work.
  virtual void begin_aside() noexcept = 0;
  virtual void end_aside() noexcept = 0;
};

/// While it exists. Null: no one wants to know.
class Aside {
 public:
  explicit Aside(AsideWatch* watch) : watch_(watch) {
    if (watch_ != nullptr) watch_->begin_aside();
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    if (watch_ != nullptr) watch_->end_aside();
  }

 private:
  AsideWatch* watch_;
};

}  // namespace stowage::recompute
