#include "recompute/schedule/step_recorder.h"

#include <algorithm>

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kTick = std::uint64_t{1} << 20u;  // between events, so that more fit in
// Before an op begins: what is not seen has changed, and then what the op is the first to read.
constexpr std::uint64_t kUnseenBefore = kTick / 2;
constexpr std::uint64_t kFirstSeenBefore = kTick / 4;
constexpr std::uint32_t kNoMaker = kNoOp.value();

}  // namespace

StepRecorder::StepRecorder(MemoryMeter& meter, std::uint64_t evicted, const Offloader& offloader,
                           std::uint64_t last_serial)
    : meter_(meter), offloader_(offloader), last_serial_(last_serial) {
  meter_.start(evicted);
}

StepRecorder::~StepRecorder() { meter_.stop(); }

std::uint32_t StepRecorder::track(StorageRecord& record, std::uint64_t birth, std::uint32_t maker) {
  const auto [at, fresh] = by_serial_.try_emplace(record.serial, static_cast<std::uint32_t>(tracked_.size()));
  if (!fresh) return at->second;
  tracked_.push_back({&record, record.impl, record.serial, record.bytes, birth, kNever.value(), 0, maker,
                      false, kNoMaker, false,
                      offloader_.is_offloadable(record) ? offloader_.copy_ns(record) : 0});
  alive_.push_back(at->second);
  return at->second;
}

// What an op pins that reads it is evictable until then; what is pinned between ops would have to come back
// between them.
void StepRecorder::notice_deaths(std::span<const Argument> arguments) {
  tick_ += kTick;
  std::erase_if(alive_, [&](std::uint32_t index) {
    Tracked& tracked = tracked_[index];
    if (tracked.impl.expired()) {
      tracked.death = tick_;
      return true;
    }
    const StorageRecord& record = *tracked.record;
    if (record.is_reached()) tracked.copy_ns = 0;
    const bool pinned = record.pinned || record.parameter || record.may_change();
    if (!pinned || tracked.pinned || tracked.pinned_from != kNoMaker) return false;
    const auto is_it = [&](const Argument& argument) { return argument.record == tracked.record; };
    if (std::any_of(arguments.begin(), arguments.end(), is_it)) {
      tracked.pinned_from = static_cast<std::uint32_t>(calls_.size());
    } else {
      tracked.pinned = true;
    }
    return false;
  });
}

std::uint32_t StepRecorder::name_of(const std::string& name) {
  const auto [at, fresh] = name_numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

std::uint32_t StepRecorder::begin_op(const std::string& name, std::uint64_t shape, std::uint32_t flags,
                                     std::span<const Argument> arguments) {
  notice_deaths(arguments);
  Call call{};
  std::uint64_t first_seen = tick_ + kTick - kFirstSeenBefore;
  for (const Argument& argument : arguments) {
    const bool is_new = argument.record->serial > last_serial_;
    const std::uint32_t tracked = track(*argument.record, is_new ? ++first_seen : 0, kNoMaker);
    call.inputs.push_back({tracked, tracked_[tracked].version, argument.role});
  }
  call.op.name = name_of(name);
  call.op.flags = flags;
  call.op.begin = Tick(tick_ += kTick);
  call.shape = shape;
  call.level = meter_.level();
  if (!running_.empty()) {
    call.op.parent = OpId(running_.back());
    for (const std::uint32_t outer : running_) ++calls_[outer].children;
  }
  meter_.mark();
  const auto number = static_cast<std::uint32_t>(calls_.size());
  running_.push_back(number);
  calls_.push_back(std::move(call));
  return number;
}

// What was held at most while it ran, less what it began with and what it made.
void StepRecorder::note_workspace(Call& call, std::uint64_t made_bytes) {
  if (call.children > 0 || !meter_.heard()) return;
  const std::int64_t more = meter_.peak() - call.level - static_cast<std::int64_t>(made_bytes);
  if (more > 0) call.op.workspace = round_up(Bytes(static_cast<std::uint64_t>(more)));
}

void StepRecorder::end_op(std::uint32_t op, std::uint64_t took_ns, TimeSource source,
                          std::span<StorageRecord* const> made) {
  Call& call = calls_[op];
  std::erase(running_, op);
  tick_ += kTick;
  std::uint64_t made_bytes = 0;
  for (StorageRecord* const record : made) {
    const std::uint32_t index = track(*record, tick_, op);
    tick_ += kTick;
    made_bytes += round_up(Bytes(record->bytes)).value();
    const bool recipe = static_cast<bool>(record->current->recipe);
    tracked_[index].made_again = recipe;
    call.outputs.push_back({index, 0, recipe ? ValueRole::kMade : ValueRole::kMadeForGood});
  }
  for (const Slot& input : call.inputs) {
    if (input.role != ValueRole::kChanged && input.role != ValueRole::kReplaced) continue;
    Tracked& tracked = tracked_[input.tracked];
    if (tracked.version != input.version || tracked.impl.expired()) continue;  // a second view of it
    const bool recipe = static_cast<bool>(tracked.record->current->recipe);
    tracked.made_again = tracked.made_again || recipe;
    call.outputs.push_back(
        {input.tracked, ++tracked.version, recipe ? ValueRole::kMade : ValueRole::kMadeForGood});
  }
  call.op.duration_ns = took_ns;
  call.op.timed_by = source;
  note_workspace(call, made_bytes);
  notice_deaths();
  call.op.end = Tick(tick_ += kTick);
}

Stay StepRecorder::stay_of(const Tracked& tracked) const {
  if (tracked.maker == kNoMaker) return is_first_seen(tracked) ? Stay::kUnseen : Stay::kBefore;
  if (tracked.pinned) return Stay::kPinned;
  if (!tracked.made_again) return Stay::kNoRecipe;
  return tracked.death == kNever.value() ? Stay::kSurvives : Stay::kMayGo;
}

// Autograd's kernels make tensors that no op returns, such as copies of what an op writes in place. Until an
// op reads one it is among what is not seen.
bool StepRecorder::is_first_seen(const Tracked& tracked) const {
  return tracked.maker == kNoMaker && tracked.birth != 0 && meter_.heard();
}

std::vector<StepRecorder::Row> StepRecorder::rows() const {
  std::vector<Row> rows;
  for (std::uint32_t index = 0; index < tracked_.size(); ++index) {
    const Tracked& tracked = tracked_[index];
    Row row{{}, stay_of(tracked), index};
    row.buffer.bytes = Bytes(tracked.bytes);
    row.buffer.rounded = round_up(Bytes(std::max<std::uint64_t>(tracked.bytes, 1)));
    const bool before = tracked.maker == kNoMaker && !is_first_seen(tracked);
    row.buffer.birth = Tick(before ? 0 : tracked.birth);
    row.buffer.death = row.buffer.free_requested = Tick(tracked.death);
    row.buffer.preexisting = before;
    if (tracked.maker != kNoMaker) row.buffer.op = OpId(tracked.maker);
    rows.push_back(row);
  }
  return rows;
}

// What is held but not known, as buffers: it grows and shrinks as on a stack.
void StepRecorder::add_unseen(std::vector<Row>& rows) const {
  if (!meter_.heard()) return;
  struct Piece {
    std::uint64_t bytes;
    std::uint64_t birth;
  };
  const std::size_t known = rows.size();
  std::vector<Piece> stack;
  std::uint64_t stacked = 0;
  const auto add = [&](const Piece& piece, std::uint64_t bytes, std::uint64_t death) {
    Row row{{}, Stay::kUnseen, kNoMaker};
    row.buffer.bytes = row.buffer.rounded = Bytes(bytes);
    row.buffer.birth = Tick(piece.birth);
    row.buffer.death = row.buffer.free_requested = Tick(death);
    row.buffer.preexisting = piece.birth == 0;
    rows.push_back(row);
  };
  for (const Call& call : calls_) {
    const std::uint64_t now = call.op.begin.value() - kUnseenBefore;
    std::int64_t unseen = meter_.base() + call.level;
    for (std::size_t i = 0; i < known; ++i) {
      const Buffer& buffer = rows[i].buffer;
      if (buffer.birth < call.op.begin && buffer.death.value() > now)
        unseen -= static_cast<std::int64_t>(buffer.rounded.value());
    }
    const std::uint64_t wanted = unseen > 0 ? round_up(Bytes(static_cast<std::uint64_t>(unseen))).value() : 0;
    while (stacked > wanted) {
      Piece& top = stack.back();
      const std::uint64_t gone = std::min(top.bytes, stacked - wanted);
      add(top, gone, now);
      stacked -= gone;
      top.bytes -= gone;
      if (top.bytes == 0) {
        stack.pop_back();
      } else if (top.birth != 0) {
        top.birth += 1;  // no two are born at one tick
      }
    }
    if (stacked < wanted) {
      stack.push_back({wanted - stacked, &call == calls_.data() ? 0 : now});
      stacked = wanted;
    }
  }
  for (const Piece& piece : stack) add(piece, piece.bytes, kNever.value());
}

void StepRecorder::add_ops(StepLog& log, const std::vector<std::uint32_t>& numbers) const {
  for (const Call& call : calls_) {
    Op op = call.op;
    op.first_value = static_cast<std::uint32_t>(log.trace.values.size());
    op.input_count = static_cast<std::uint32_t>(call.inputs.size());
    op.output_count = static_cast<std::uint32_t>(call.outputs.size());
    Bytes extra(0);
    for (const std::vector<Slot>* slots : {&call.inputs, &call.outputs}) {
      for (const Slot& slot : *slots) {
        log.trace.values.push_back({BufferId(numbers[slot.tracked]), slot.version});
        log.roles.push_back(slot.role);
        if (slot.role == ValueRole::kKept) extra += round_up(Bytes(tracked_[slot.tracked].bytes));
      }
    }
    log.trace.ops.push_back(op);
    log.shape_hashes.push_back(call.shape);
    log.replay_extra.push_back(extra);
  }
}

Result<StepLog> StepRecorder::finish() {
  notice_deaths();
  if (failed_ || !running_.empty())
    return Error{ErrorCode::kUnplannable,
                 "an op ran across the end of the recorded iteration; record another one"};
  std::vector<Row> all = rows();
  add_unseen(all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Row& a, const Row& b) { return a.buffer.birth < b.buffer.birth; });
  StepLog log;
  std::vector<std::uint32_t> numbers(tracked_.size());
  for (std::uint32_t number = 0; number < all.size(); ++number) {
    const Row& row = all[number];
    log.trace.buffers.push_back(row.buffer);
    log.stays.push_back(row.stay);
    log.pinned_from.push_back(row.tracked == kNoMaker ? kNoOp : OpId(tracked_[row.tracked].pinned_from));
    log.copy_ns.push_back(row.tracked == kNoMaker ? 0 : tracked_[row.tracked].copy_ns);
    if (row.tracked == kNoMaker) continue;
    numbers[row.tracked] = number;
    if (tracked_[row.tracked].maker != kNoMaker) log.made.emplace_back(number);
  }
  add_ops(log, numbers);
  log.copy_lanes = offloader_.copy_lanes();
  log.store_bytes = Bytes(offloader_.capacity());
  log.trace.names = names_;
  log.trace.end = Tick(tick_ + kTick);
  if (Status status = log.validate(); !status) return status.error();
  return log;
}

}  // namespace stowage::recompute
