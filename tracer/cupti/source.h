// Records the process's GPU work through CUPTI's activity API, for as long as anybody holds the source.
//
// One source a process, shared by the clocks of its devices (clocks/cupti_clock.h). Each op pushes an id of
// its own, which CUPTI writes beside each API call that the op makes. CUPTI fills buffers; a thread of the
// source reads them. When the last holder lets go, the kinds are disabled, what is left is read, the buffers
// are freed, and CUPTI is detached from the process if nobody else uses it.
//
// Another client, above all PyTorch's profiler, may take CUPTI over at any time: it then gets the records,
// and switches them off for all when it ends. So a source that notices one is *lost*: it flushes once, and
// leaves CUPTI to the other one. Where somebody says so before (leave_present()), CUPTI is left as it was.
//
// Thread safety: every member, from any thread; push() and pop() of one op come from the same thread. No
// exception leaves push() and pop().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/activity.h"
#include "core/result.h"
#include "tracer/cupti/buffers.h"
#include "tracer/cupti/records/library.h"
#include "tracer/cupti/records/record.h"
#include "tracer/cupti/records/record_reader.h"
#include "tracer/cupti/times/attribution.h"
#include "tracer/cupti/times/clock_pairs.h"

namespace stowage::tracer::cupti {

struct SourceOptions {
  std::size_t buffers = 24;  ///< CUPTI keeps one for each thread that calls CUDA
  std::size_t buffer_bytes = std::size_t{1} << 20;
  std::size_t most_records = 2'000'000;
  std::chrono::milliseconds patience{500};  ///< how long collect() waits for records of finished work
  /// Another client is at work. Asked before each push: must be quick. Empty: never.
  std::function<bool()> others_record;
  /// CUPTI may be detached from the process at the end. Empty: always.
  std::function<bool()> may_detach;
};

class Source {
 public:
  /// The process's source, started if there is none. `options` count where it is started. Error:
  /// kUnsupported, saying why CUPTI does not work here. Requires: the process has a CUDA device.
  static Result<std::shared_ptr<Source>> join(const Library& library, const SourceOptions& options);
  /// The process's source, if there is one, stops recording now and for good: all kinds are disabled, and
  /// CUPTI has no buffer of ours any more. For another client that is about to begin.
  static void leave_present() noexcept;
  /// Requires: no op is open.
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// The calling thread enters an op. `id` is 0 if the source is lost.
  OpenedOp push() noexcept;
  /// It leaves that op.
  void pop(const OpenedOp& op) noexcept;
  /// Another client has taken CUPTI over: nothing more is recorded.
  [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  struct Collected {
    std::vector<Record> records;
    std::vector<std::string> names;  ///< Record::name is an index
    ActivityLosses losses;
    ClockMap clock;
  };
  /// What was recorded so far. Waits until the records of all finished work are there,
  /// SourceOptions::patience at most. Call after the device was waited for.
  Collected collect();

 private:
  Source(const Library& library, SourceOptions options);
  Status start();
  Status enable_kinds();
  void stop() noexcept;
  std::size_t flush(std::uint32_t flag);
  void fetch_records();
  void read_buffers();
  void keep(std::vector<Record>& fresh);
  [[nodiscard]] ClockPair read_clocks() const;
  [[nodiscard]] bool detaches() const;
  void give_way() noexcept;
  void leave() noexcept;
  void disable_kinds() noexcept;

  const Library library_;
  const SourceOptions options_;
  const int process_;  ///< a forked child has neither the thread nor CUPTI
  std::shared_ptr<BufferPool> pool_;
  std::vector<std::uint32_t> enabled_;
  ClockPair begin_;
  std::atomic<bool> lost_{false};
  std::thread reader_;
  std::mutex flushing_;  ///< one flush at a time
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  NameBook names_;
  ActivityLosses losses_;
};

}  // namespace stowage::tracer::cupti
