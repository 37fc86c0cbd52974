// Writes down one iteration as a StepLog: what its ops read, wrote and made, and what may be evicted.
//
// It sees the job alone: evictions and recomputations meanwhile leave no trace. Memory that no op
// made (an allocator reports it, MemoryMeter) is in the log as buffers that stay. Thread safety: none; the
// runtime's lock guards it.
#pragma once

#include <c10/core/StorageImpl.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "core/step_log.h"
#include "recompute/away/offloader.h"
#include "recompute/schedule/memory_meter.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class StepRecorder {
 public:
  /// `evicted`: bytes of the job that are evicted now. `offloader` says what may be offloaded; it outlives
  /// this. `last_serial`: of the newest storage that is known.
  StepRecorder(MemoryMeter& meter, std::uint64_t evicted, const Offloader& offloader,
               std::uint64_t last_serial);
  ~StepRecorder();
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  struct Argument {
    StorageRecord* record;
    ValueRole role;
  };
  /// An op begins. Its number.
  std::uint32_t begin_op(const std::string& name, std::uint64_t shape, std::uint32_t flags,
                         std::span<const Argument> arguments);
  /// It ended: `made` are new, and the arguments that it writes have a new value. Requires: begin_op gave
  /// `op`.
  void end_op(std::uint32_t op, std::uint64_t took_ns, TimeSource source,
              std::span<StorageRecord* const> made);
  /// An op that ran across its end: this iteration is no good.
  void fail() { failed_ = true; }

  /// The iteration ended. Error: kUnplannable if an op began or ended in another one.
  Result<StepLog> finish();

 private:
  struct Tracked {
    StorageRecord* record;  ///< valid only while the storage is alive
    c10::weak_intrusive_ptr<c10::StorageImpl> impl;
    std::uint64_t serial;
    std::uint64_t bytes;
    std::uint64_t birth;
    std::uint64_t death;
    std::uint32_t version;
    std::uint32_t maker;        ///< op, or kNoOp's value
    bool pinned;                ///< at a time when no op asked for it
    std::uint32_t pinned_from;  ///< the op at which it was pinned
    bool made_again;            ///< some version has a recipe
    std::uint64_t copy_ns;      ///< 0: there was a time when it could not be offloaded
  };
  struct Slot {
    std::uint32_t tracked;
    std::uint32_t version;
    ValueRole role;
  };
  struct Call {
    Op op;
    std::uint64_t shape;
    std::uint32_t children;
    std::int64_t level;  ///< of the meter when it began: above its base
    std::vector<Slot> inputs, outputs;
  };

  std::uint32_t track(StorageRecord& record, std::uint64_t birth, std::uint32_t maker);
  void notice_deaths(std::span<const Argument> arguments = {});
  void note_workspace(Call& call, std::uint64_t made_bytes);
  std::uint32_t name_of(const std::string& name);
  [[nodiscard]] bool is_first_seen(const Tracked& tracked) const;
  [[nodiscard]] Stay stay_of(const Tracked& tracked) const;
  struct Row {
    Buffer buffer;
    Stay stay;
    std::uint32_t tracked;
  };
  [[nodiscard]] std::vector<Row> rows() const;
  void add_unseen(std::vector<Row>& rows) const;
  void add_ops(StepLog& log, const std::vector<std::uint32_t>& numbers) const;

  MemoryMeter& meter_;
  const Offloader& offloader_;
  const std::uint64_t last_serial_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
  std::vector<Tracked> tracked_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_serial_;
  std::vector<std::uint32_t> alive_;  ///< of tracked_
  std::vector<Call> calls_;
  std::vector<std::uint32_t> running_;  ///< of calls_
  std::uint64_t tick_ = 1;
  bool failed_ = false;
};

}  // namespace stowage::recompute
