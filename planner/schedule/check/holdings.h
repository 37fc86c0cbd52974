// Where each buffer's bytes are while the validator walks through a log, and how many are held: what the
// rules of core/runtime/residency_contract.h say of one buffer at a time. For the validator alone.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/residency_contract.h"
#include "planner/schedule/check/log_contents.h"
#include "planner/schedule/check/validator.h"

namespace stowage::planner::schedule {

/// Thrown where a rule is broken, and caught by the validator.
struct Broken {
  std::string what;
};

class Holdings {
 public:
  struct State {
    bool alive = false;  ///< the job has it
    bool gone = false;   ///< the job had it
    bool evicted = false;
    bool offloaded = false;
    bool stored = false;         ///< a copy of what it holds is in its store
    bool lasts_alike = false;    ///< its copy stays from one iteration to the next
    bool in_store = false;       ///< its copy takes room there
    bool arriving = false;       ///< it has its memory already, though it is offloaded
    std::uint64_t ready_ns = 0;  ///< when its latest copy is whole
    Content current = 0;
    int locks = 0;                ///< running ops
    std::vector<Content> leaves;  ///< what bringing it back starts from, while evicted
  };

  /// All three outlive it. Nothing is there yet.
  Holdings(const StepLog& log, const LogContents& contents, std::uint64_t budget);

  [[nodiscard]] State& home(Content c) { return buffers_[contents_.home(c)]; }
  [[nodiscard]] const State& home(Content c) const { return buffers_[contents_.home(c)]; }
  [[nodiscard]] std::uint64_t size(std::uint32_t b) const { return log_.trace.buffers[b].rounded.value(); }
  /// The job needs it, or something evicted does.
  [[nodiscard]] bool lives(Content c) const;
  /// Recomputation may start from it: it is in memory, or in a store.
  [[nodiscard]] bool readable(Content c) const;

  // All that follow throw Broken; `name` says where.
  void at_most(std::uint64_t bytes, const std::string& name);
  void appear(std::uint32_t b);
  void vanish(std::uint32_t b);
  void evict(std::uint32_t b, const std::string& name);
  /// A copy to its store begins, unless there is one.
  void copy_there(std::uint32_t b, const std::string& name);
  void offload(std::uint32_t b, const std::string& name);
  /// Its copy takes room in its store; or no more.
  void enter_store(std::uint32_t b);
  void leave_store(std::uint32_t b);
  /// Once, at the end: at any time.
  void check_store() const;
  /// A copy from its store begins.
  void prefetch(std::uint32_t b, const std::string& name);
  /// From its store. `aside`: bytes that are held besides.
  void fetch(std::uint32_t b, std::uint64_t aside, const std::string& name);
  /// It was made again.
  void refill(std::uint32_t b);
  /// Ops run for so long.
  void pass(std::uint64_t ns) { now_ns_ += ns; }

 protected:
  std::vector<State> buffers_;
  std::vector<std::uint32_t> maker_;  ///< by content: the op that can make it again
  std::vector<WriteState> write_;     ///< by content
  std::uint64_t held_ = 0;
  Verdict verdict_;
  const StepLog& log_;
  const LogContents& contents_;

 private:
  enum Answer : std::uint8_t { kUnknown, kYes, kNo };
  bool can_be_made(Content c);
  void find_leaves(Content c, std::vector<bool>& seen, std::vector<Content>& leaves);
  [[nodiscard]] bool is_held(std::uint32_t b) const;
  /// `lane_end_ns`: of copies in the same direction.
  void begin_copy(std::uint32_t b, std::uint64_t& lane_end_ns);
  void wait_until(std::uint64_t time_ns);

  const std::uint64_t budget_;
  std::uint64_t now_ns_ = 0;
  std::vector<std::int64_t> store_changes_;  ///< in bytes, in order
  std::uint64_t lasting_stored_ = 0;         ///< bytes, all the time
  std::uint64_t there_end_ns_ = 0;           ///< of all copies there that are queued
  std::uint64_t back_end_ns_ = 0;            ///< and of those back
  std::vector<int> anchors_;                 ///< by content: evicted buffers that start from it
  std::vector<Answer> verdicts_;
};

}  // namespace stowage::planner::schedule
