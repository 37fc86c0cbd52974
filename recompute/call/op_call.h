// One call of an op, from before it runs to after: what it reads is brought back and locked, what it writes
// is given a new version, what it makes gets a recipe.
//
//   OpCall call(traits, below);
//   call.begin(arguments);      // holds the lock meanwhile
//   … the op runs, outside the lock …
//   call.end(results);
// A call that is destroyed before end() failed: what it was to write has unknown content.
//
// Beside op_call.cc: op_arguments.cc (what a call reads and writes), op_recipe.cc (how what it makes can be
// made again), op_results.cc (what it has made), op_check.cc (STOWAGE_VERIFY).
//
// Thread safety: one thread per call; begin() and end() take the runtime's lock.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "recompute/machine/machine.h"
#include "recompute/ops/op_traits.h"
#include "recompute/threads/thread_state.h"
#include "recompute/verify/recipe_check.h"

namespace stowage::recompute {

/// What stands between a call and the end of its kernel.
enum class Below : std::uint8_t {
  kPlain,   ///< autograd and a dense kernel: the call can be recorded
  kKernel,  ///< a kernel of another kind of tensor, or one behind lazy bits (conjugate, …): one call, not
            ///< recorded
  kOps      ///< a mode, a subclass, a transform: not recorded; the ops that they call are seen
};

class OpCall {
 public:
  OpCall(const OpTraits& traits, Below below);
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;
  ~OpCall();

  /// Throws what recomputation throws.
  void begin(c10::ArrayRef<c10::IValue> arguments);
  void end(c10::ArrayRef<c10::IValue> results);

 private:
  struct Use {
    StorageRecord* record;
    const at::TensorBase* tensor;
    Role role;
    bool written;
    bool statistics;  ///< of batch-norm: written, but not part of what its results depend on

    [[nodiscard]] bool unread() const { return role == Role::kUnread; }  ///< then it need not be in memory
  };

  /// A further storage of an argument (tensor_parts.h). No recipe records it.
  struct Part {
    StorageRecord* record;
    bool written;
  };

  bool prepare(c10::ArrayRef<c10::IValue> arguments, std::uint32_t tries);
  void prepare(c10::ArrayRef<c10::IValue> arguments);
  void count_running(int by);
  void read_arguments(c10::ArrayRef<c10::IValue> arguments);
  void read_tensor(const at::TensorBase& tensor, std::size_t argument, bool trains);
  [[nodiscard]] bool reads(c10::ArrayRef<c10::IValue> arguments, std::size_t at) const;
  void note_unread(const at::TensorBase& tensor);
  void read_parts(const at::TensorBase& tensor, bool written);
  void bring_back();
  void pin_what_is_unsafe();
  [[nodiscard]] bool appears_once(const Use& use) const;
  [[nodiscard]] bool is_written_by_another(std::size_t at) const;
  [[nodiscard]] bool trains(c10::ArrayRef<c10::IValue> arguments) const;
  [[nodiscard]] bool may_record() const;
  void make_recipe(c10::ArrayRef<c10::IValue> arguments);
  void begin_draw(c10::ArrayRef<c10::IValue> arguments);
  void note_random_state(c10::ArrayRef<c10::IValue> arguments);
  Input input_of(const Use& use);
  void announce_writes();
  void add_results(c10::ArrayRef<c10::IValue> results);
  [[nodiscard]] std::uint64_t guard_cost_ns(std::uint64_t took_ns) const;
  void add_result(const at::TensorBase& tensor, std::uint32_t index, std::int32_t element);
  void renew_written();
  Ref<Value> new_value(bool written, std::uint32_t index, std::int32_t element, std::uint64_t bytes);
  [[nodiscard]] bool is_used(const StorageRecord* record) const;
  /// It is an argument by itself, without a tensor: what shows it from now on is seen.
  [[nodiscard]] bool is_given(const StorageRecord* record) const;
  void note_begin();
  void begin_check();
  void end_check(c10::ArrayRef<c10::IValue> results);
  void finish(c10::ArrayRef<c10::IValue> results, std::uint64_t took_ns);
  void unlock();

  Machine& machine_;
  ThreadState& thread_;
  const char* const outer_op_ = thread_.op;
  const OpTraits& traits_;
  const Below below_;
  bool hidden_ = false;  ///< an argument has memory that is not seen here
  bool begun_ = false;
  bool ended_ = false;
  c10::SmallVector<Use, 6> uses_;
  c10::SmallVector<Part, 2> parts_;
  c10::SmallVector<StorageRecord*, 2> made_;
  c10::SmallVector<const c10::StorageImpl*, 1> given_;  ///< storages among the arguments
  std::optional<CallHash> hash_;                        ///< once it is needed
  Ref<Recipe> recipe_;
  at::Generator generator_;  ///< that it draws from
  DrawWatch::Draw draw_;
  std::uint32_t depth_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t aside_ns_ = 0;  ///< ResidencyCounts::aside_ns() when it began
  StepWatch::Call step_;
  /// For STOWAGE_VERIFY and STOWAGE_EVICT; null in a job that is not debugged.
  struct Verification {
    std::shared_ptr<const SourceLine> source;
    RecipeCheck check;
  };
  std::unique_ptr<Verification> verification_;
};

}  // namespace stowage::recompute
