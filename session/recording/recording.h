// Recording of a job: which recorder is in use, whether it records ops too, and what the recording shows so
// far.
//
// Recording ops is expensive: with short kernels, as expensive as the job itself. So allocations alone show
// whether the job repeats itself; once it does, the next window's ops are recorded too.
//
// Thread safety: the conductor's, except for the recorder that `hot` points to, which any thread calls.
// Recorders are emptied and kept, since late callers may still hold them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "session/facts/session_facts.h"
#include "session/ports/device_port.h"
#include "session/ports/torch_port.h"
#include "session/settings/settings.h"
#include "tracer/recorder/recorder.h"

namespace stowage::session {

class Recording {
 public:
  /// `hot`: where the threads of the job find the recorder to call; null while nothing is
  /// recorded.
  Recording(std::atomic<tracer::Recorder*>& hot, DevicePort& port, TorchPort& torch, const TraceInfo& info,
            const Settings& settings)
      : hot_(hot), port_(port), torch_(torch), info_(info), settings_(settings) {}

  /// Starts over, with a fresh recorder that knows no earlier buffer. `device_is_empty`: nothing is
  /// allocated on the device.
  void start(bool device_is_empty);
  /// Stops recording. What was recorded is kept until start().
  void stop();
  [[nodiscard]] bool is_on() const { return hot_.load(std::memory_order_relaxed) != nullptr; }
  /// Stops recording ops.
  void stop_ops();
  /// Discards what was recorded.
  void forget();
  /// What is recorded now began with the job's first allocation, and all of it is kept.
  [[nodiscard]] bool has_beginning() const { return begins_with_job_ && recorder().is_whole(); }
  /// What was recorded so far, with `marks` marks, is a recording's beginning.
  void go_on(std::uint64_t marks) { marks_ = marks; }

  /// An iteration ended. False: nothing was allocated in it, and the mark does not count.
  bool on_mark(MarkSource source);
  /// The verdict on the marks so far.
  enum class Verdict : std::uint8_t {
    kGoOn,
    kSteady,   ///< the last windows agree, or were all there before; their ops are recorded or not wanted
    kVaries,   ///< not yet, and of a row of iterations no two made the same allocations
    kHopeless  ///< neither, in as many iterations as the settings allow
  };
  /// Call once after each mark that counts. `ops_wanted`: record ops, if the settings want them too.
  Verdict judge(bool ops_wanted);
  /// Notes in `facts` what upstream holds while no plan is followed; and `elsewhere` what it would hold.
  void note_before(SessionFacts& facts, Bytes elsewhere = Bytes(0)) const {
    UpstreamUse use = port_.upstream_use();
    for (Bytes* bytes : {&use.allocated, &use.reserved, &use.peak_allocated, &use.peak_reserved})
      *bytes += elsewhere;
    facts.note_before(use, recorder().dropped());
  }
  /// Stops recording ops, completes their durations, and returns all that was recorded.
  Trace finish();

  /// Marks that counted, since start() or forget().
  [[nodiscard]] std::uint64_t marks() const { return marks_; }
  /// The last windows agree, or were all there before.
  [[nodiscard]] bool is_settled() const;
  /// Marks of the steady window, at least 1.
  [[nodiscard]] std::uint32_t window_marks() const;
  /// The present recorder, or the last one. Requires: start() was called.
  [[nodiscard]] tracer::Recorder& recorder() const { return *recorders_.back(); }

 private:
  bool has_ops(bool wanted);

  std::atomic<tracer::Recorder*>& hot_;
  DevicePort& port_;
  TorchPort& torch_;
  const TraceInfo& info_;
  const Settings& settings_;
  std::vector<std::shared_ptr<tracer::Recorder>> recorders_;  ///< the last one is in use; others are empty
  bool ops_observed_ = false;
  bool begins_with_job_ = false;
  std::uint64_t marks_ = 0;
  std::uint64_t unlike_marks_ = 0;         ///< since the job last repeated itself
  std::uint64_t marks_with_ops_ = 0;       ///< since they are observed
  std::uint32_t iterations_with_ops_ = 1;  ///< wanted, since they are observed
  std::uint64_t all_marks_with_ops_ = 0;   ///< of this recording
};

}  // namespace stowage::session
