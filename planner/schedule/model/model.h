// What the recompute runtime does with memory, byte for byte, without a job: evictions, what they hold, what
// a restore runs again, what comes back with it and how much is held meanwhile; what is offloaded, and when a
// copy of it is made.
//
// The rules and the states are those of core/runtime/residency_contract.h, which the runtime keeps too.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/runtime/residency_contract.h"
#include "planner/schedule/model/copy_queue.h"
#include "planner/schedule/model/op_graph.h"
#include "planner/schedule/model/store_room.h"

namespace stowage::planner::schedule {

/// The end of a span that is still open when the iteration ends.
inline constexpr std::uint64_t kOpenEnd = ~std::uint64_t{0};

/// What running any op again costs besides its own time.
inline constexpr std::uint64_t kReplayNs = 2000;

/// Held for no buffer of the graph: a workspace, a copy.
inline constexpr std::uint32_t kNoBuffer = ~std::uint32_t{0};

/// A stretch of time in which bytes are held, in ordinals of allocations.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = kOpenEnd;
  std::uint64_t bytes = 0;
  bool from_before = false;
  std::uint32_t buffer = kNoBuffer;  ///< of the graph's
};

/// One copy to a store or back.
struct Copied {
  std::uint32_t op = 0;  ///< before it
  std::uint32_t buffer = 0;
  bool back = false;
};

class Model {
 public:
  /// `graph` outlives the model. `spans`: where to note what is held when; may be null.
  /// `away`: lasting buffers that the iteration begins with offloaded.
  explicit Model(const OpGraph& graph, std::vector<Span>* spans = nullptr,
                 const std::vector<std::uint32_t>& away = {});

  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] std::uint64_t peak() const { return peak_; }
  [[nodiscard]] std::uint64_t replays() const { return replays_; }
  [[nodiscard]] std::uint64_t replay_ns() const { return replay_ns_; }
  /// Values looked at since the beginning.
  [[nodiscard]] std::uint64_t work() const { return work_; }
  [[nodiscard]] std::uint64_t copies() const { return copies_; }
  [[nodiscard]] std::uint64_t copy_ns() const { return copy_ns_; }
  /// When what comes next begins, and for how long copies were waited for.
  [[nodiscard]] const CopyQueue& queue() const { return queue_; }
  [[nodiscard]] const StoreRoom& store_room() const { return store_room_; }
  /// From now on each copy is appended to `copied`.
  void note_copies(std::vector<Copied>* copied) { copied_ = copied; }
  /// Most bytes held since the last call.
  std::uint64_t take_recent_peak() { return std::exchange(recent_peak_, held_); }
  /// The job has it, and its bytes are evicted.
  [[nodiscard]] bool is_evicted(std::uint32_t buffer) const {
    return where_[buffer] == kEvictedBytes && life_[buffer] == kAlive;
  }
  /// Something needs it, and its bytes are in a store.
  [[nodiscard]] bool is_offloaded(std::uint32_t buffer) const {
    return where_[buffer] == kStoredBytes && is_needed(buffer);
  }
  /// The job has it, and its bytes are not there.
  [[nodiscard]] bool is_away(std::uint32_t buffer) const {
    return where_[buffer] != kBytesHere && life_[buffer] == kAlive;
  }
  /// The job has it, and its bytes are there.
  [[nodiscard]] bool is_resident(std::uint32_t buffer) const {
    return where_[buffer] == kBytesHere && life_[buffer] == kAlive;
  }
  [[nodiscard]] ValueState state_of(std::uint32_t value) const;
  [[nodiscard]] bool materialised(std::uint32_t value) const {
    return stowage::materialised(state_of(value));
  }
  [[nodiscard]] bool has_recipe(std::uint32_t value) const { return recipe_[value] != 0; }
  [[nodiscard]] bool locked(std::uint32_t buffer) const { return locks_[buffer] > 0; }
  [[nodiscard]] std::uint32_t current(std::uint32_t buffer) const { return current_[buffer]; }

  /// Cheap: alive, here, made by a recipe, not locked. evict() may still refuse.
  [[nodiscard]] bool may_evict(std::uint32_t buffer) const;
  /// False, and nothing changed, if the buffer's content cannot be made again from what is in memory.
  bool evict(std::uint32_t buffer);

  /// Cheap: alive, here, with a store, not locked.
  [[nodiscard]] bool may_offload(std::uint32_t buffer) const;
  /// False if it may not go. What is offloaded stays so.
  bool offload(std::uint32_t buffer);
  /// Its copy to the store begins, unless there is one. False if it may not be offloaded now.
  bool store(std::uint32_t buffer);
  /// Takes memory and begins the copy back, if it is offloaded.
  void prefetch(std::uint32_t buffer);
  /// What offloading it and bringing it back would take now.
  [[nodiscard]] std::uint64_t copies_ns_of(std::uint32_t buffer) const {
    return graph_.buffers[buffer].copy_ns * (stored_[buffer] != 0 ? 1 : 2);
  }

  /// Ops to run again for a buffer, in order, and how often each value is used by steps to come.
  struct Replay {
    std::vector<std::uint32_t> steps;
    std::unordered_map<std::uint32_t, std::uint32_t> uses;
  };
  /// Requires: is_evicted(buffer).
  [[nodiscard]] Replay plan(std::uint32_t buffer);
  /// Most bytes held while `replay` runs; an upper bound where leaves are released on the way.
  [[nodiscard]] std::uint64_t peak_of(const Replay& replay);
  /// Brings it back if it is away. Adds the buffers that came back to `back` unless that is null.
  void restore(std::uint32_t buffer, std::vector<std::uint32_t>* back = nullptr);
  /// The buffers that must come back before this value's bytes change, in order of number.
  [[nodiscard]] std::vector<std::uint32_t> dependents(std::uint32_t value) const;

  /// This op is the next to begin.
  void come_to(std::uint32_t op) { op_ = op; }
  void birth(std::uint32_t buffer);
  void death(std::uint32_t buffer);
  /// An op begins: what it uses may not be evicted until it ends.
  void lock(std::uint32_t op);
  /// From now on nothing may be evicted that starts from `value`: its bytes are about to change.
  void freeze(std::uint32_t value) { advance(write_[value], WriteState::kFrozen); }
  /// An op is changing its bytes: nothing may read it.
  void close(std::uint32_t value) { write_[value] = WriteState::kClosing; }
  /// It runs. Returns what is held at most while it does.
  std::uint64_t run(std::uint32_t op);
  void end(std::uint32_t op);
  /// What run() would return now.
  [[nodiscard]] std::uint64_t need_of(std::uint32_t op) const;

 private:
  enum Life : std::uint8_t { kUnborn, kAlive, kDead };
  enum Where : std::uint8_t { kBytesHere, kEvictedBytes, kStoredBytes };
  class Rerun;
  std::size_t open_span(std::uint64_t bytes);
  void close_span(std::size_t span);
  void hold(std::uint32_t buffer, std::size_t span);
  void release(std::uint32_t buffer);
  /// The job has it, or what is evicted starts from it.
  [[nodiscard]] bool is_needed(std::uint32_t buffer) const {
    return life_[buffer] == kAlive || (life_[buffer] == kDead && anchors_[current_[buffer]] > 0);
  }
  [[nodiscard]] bool has_memory(std::uint32_t buffer) const {
    return where_[buffer] == kBytesHere || arriving_[buffer] != 0;
  }
  void fetch(std::uint32_t buffer);
  [[nodiscard]] bool has_store_room(std::uint32_t buffer) const {
    const OpGraph::BufferNode& node = graph_.buffers[buffer];
    return in_store_[buffer] != 0 || store_room_.fits(node.bytes, node.lasts_alike());
  }
  void take_store_room(std::uint32_t buffer);
  void drop_copy(std::uint32_t buffer);
  void note_copy(std::uint32_t buffer, bool back);
  void note_peak(std::uint64_t bytes) {
    recent_peak_ = recent_peak_ < bytes ? bytes : recent_peak_;
    peak_ = peak_ < recent_peak_ ? recent_peak_ : peak_;
  }
  [[nodiscard]] bool is_lost(std::uint32_t value) const { return state_of(value) == ValueState::kLost; }
  bool settle(std::uint32_t value);
  const std::vector<std::uint32_t>& leaves_below(std::uint32_t op);
  [[nodiscard]] std::vector<std::uint32_t> leaves_of_inputs(std::uint32_t op) const;
  [[nodiscard]] std::uint32_t maker_below(const OpGraph::Use& use) const;
  bool collect_leaves(std::uint32_t value, std::vector<std::uint32_t>& leaves);
  void release_leaves(std::uint32_t buffer);
  void refill(std::uint32_t buffer, std::size_t span);

  const OpGraph& graph_;
  std::vector<Span>* spans_;
  std::vector<std::uint32_t> current_;  ///< by buffer
  std::vector<std::uint8_t> life_;      ///< by buffer
  std::vector<Where> where_;            ///< by buffer
  std::vector<std::uint8_t> stored_;    ///< by buffer: its store has its present content
  std::vector<std::uint8_t> in_store_;  ///< by buffer: its copy takes room there
  std::vector<std::uint8_t> arriving_;  ///< by buffer: offloaded, and it has its memory
  std::vector<std::uint64_t> due_;      ///< by buffer: when its latest copy is done
  CopyQueue queue_;
  StoreRoom store_room_;
  std::vector<std::uint32_t> locks_;                ///< by buffer
  std::vector<std::size_t> span_of_;                ///< by buffer, while it is held
  std::vector<std::vector<std::uint32_t>> leaves_;  ///< by buffer, while it is evicted
  std::vector<std::uint8_t> recipe_, sound_;        ///< by value
  std::vector<WriteState> write_;                   ///< by value
  std::vector<std::uint32_t> anchors_;              ///< by value
  std::vector<std::vector<std::uint32_t>> below_;   ///< by op: see leaves_below
  std::vector<std::uint64_t> below_age_;            ///< by op: the age that it is of
  std::uint64_t age_ = 1;                           ///< counts dropped recipes
  std::uint64_t work_ = 0;
  std::vector<std::uint64_t> stamp_of_value_, stamp_of_op_;
  std::uint64_t stamp_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t recent_peak_ = 0;
  std::vector<Copied>* copied_ = nullptr;
  std::uint64_t replays_ = 0;
  std::uint64_t replay_ns_ = 0;
  std::uint64_t copies_ = 0;
  std::uint64_t copy_ns_ = 0;
};

}  // namespace stowage::planner::schedule
