// Which op of an iteration uses which storage, and so how long each will be idle: iterations repeat.
//
// A storage that is older than the iteration carries its own times (use_times.h); one that was made in it is
// known by its order among those (made_uses.h). Thread safety: none; the runtime's lock guards it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "recompute/storage/made_uses.h"
#include "recompute/storage/room_needs.h"
#include "recompute/storage/storage_book.h"

namespace stowage::recompute {

class UseHistory {
 public:
  /// Number of the iteration's first op.
  [[nodiscard]] std::uint64_t iteration_began() const { return began_; }

  /// The op with the number `op_number`, the present one, uses or makes it.
  void note(StorageRecord& record, std::uint64_t op_number) {
    record.last_use = op_number;
    const Moment now = moment(op_number);
    if (record.serial > serial_before_) return made_.note(nth(record), record.bytes, now.op);
    if (record.use_times == nullptr) record.use_times = std::make_unique<UseTimes>();
    record.use_times->note(now);
  }
  /// Room of this many bytes was made at that op.
  void note_room(std::uint64_t op_number, std::uint64_t bytes) { needs_.note(op_number - began_, bytes); }
  /// The limit is another one.
  void learn_needs_again() { needs_.learn_again(); }
  /// How much room is needed within that many ops, in ops (RoomNeeds).
  [[nodiscard]] double need_within(std::uint64_t ops, std::uint64_t op_number) const {
    const std::uint64_t now = op_number - began_;
    const std::uint64_t end = std::max(ops_before_, now);  // of this iteration
    const std::uint64_t next = now + ops;
    if (next <= end) return needs_.between(now, next);
    return needs_.between(now, end) + needs_.between(0, next - end);
  }
  /// Ops until its next use, if that comes as in the iteration before; nullopt: nothing is known of that.
  [[nodiscard]] std::optional<std::uint64_t> until_next(const StorageRecord& record,
                                                        std::uint64_t op_number) const {
    const Moment now = moment(op_number);
    if (record.serial <= serial_before_)
      return record.use_times == nullptr ? std::nullopt : record.use_times->until_next(now);
    if (!made_before_.knows(nth(record), record.bytes)) return std::nullopt;
    const auto next = made_before_.next_after(nth(record), now.op);
    if (next) return *next - now.op;
    return 2 * std::max(now.ops, now.op) - now.op;  // in this iteration none does: it may die
  }
  /// It is not used from the op with that number on, if this iteration is like the one before: it will have
  /// died. False: nothing is known of that.
  [[nodiscard]] bool is_over_at(const StorageRecord& record, std::uint64_t op_number) const {
    return record.serial > serial_before_ && made_before_.knows(nth(record), record.bytes) &&
           began_ + made_before_.last(nth(record)) < op_number;
  }
  /// The op after `op_number` is an iteration's first, and all storages up to `last_serial` are older.
  /// Returns how many ops the iteration that ends had.
  std::uint64_t begin_iteration(std::uint64_t op_number, std::uint64_t last_serial) {
    ++iterations_;
    ops_before_ = op_number - began_;
    needs_.end_iteration(ops_before_);
    began_ = op_number;
    serial_before_ = last_serial;
    std::swap(made_, made_before_);
    made_.clear();
    return ops_before_;
  }

 private:
  [[nodiscard]] Moment moment(std::uint64_t op_number) const {
    return {iterations_, op_number - began_, ops_before_};
  }
  [[nodiscard]] std::size_t nth(const StorageRecord& record) const {
    return static_cast<std::size_t>(record.serial - serial_before_ - 1);
  }

  std::uint64_t iterations_ = 0;     ///< that ended
  std::uint64_t began_ = 0;          ///< number of the op before this iteration's first
  std::uint64_t ops_before_ = 0;     ///< of the iteration before
  std::uint64_t serial_before_ = 0;  ///< of the newest storage that is older than the iteration
  MadeUses made_, made_before_;
  RoomNeeds needs_;
};

}  // namespace stowage::recompute
