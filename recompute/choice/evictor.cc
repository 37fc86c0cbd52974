#include "recompute/choice/evictor.h"

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "recompute/choice/contiguous_room.h"
#include "recompute/recipe/walk_down.h"

namespace stowage::recompute {
namespace {

constexpr double kReplayNs = 2000;  // what running any op again costs at least

// Of the op that made it alone.
double own_cost_ns(const Value& value) {
  return static_cast<double>(value.recipe->signature->cost_ns()) + kReplayNs;
}

double bytes_by_staleness(std::uint64_t bytes, std::uint64_t now, std::uint64_t last_use) {
  return static_cast<double>(bytes) * static_cast<double>(now - std::min(now, last_use) + 1);
}

// By how much a copy of what nobody can recompute must be cheaper than recomputing something else where it is
// not known when they are used next: the copy comes back for sure, as parameters are read in every iteration,
// while what is evicted often dies before. 4: least time on the jobs of benchmarks/budget/offload.py.
double caution_for(const StorageRecord& record) {
  constexpr double kCaution = 4;
  return record.current->recipe && !record.parameter ? 1 : kCaution;
}

}  // namespace

// Goes down from evicted values through what is not there either: whoever is there at the end of such a way
// is what their replay starts from.
void Evictor::note_consumers() {
  consumers_.clear();
  const std::uint64_t stamp = book_.next_stamp();
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted && residency_.neighbours().set_of(*record.current) >= 0)
      note_consumer(*record.current, stamp);
  });
}

void Evictor::note_consumer(Value& evicted, std::uint64_t stamp) {
  const NeighbourSets::Id set = residency_.neighbours().set_of(evicted);
  waiting_.assign(1, &evicted);
  evicted.stamp = stamp;
  walk_down(waiting_, [&](Value& below) {
    if (materialised(below)) {
      consumers_[&below].push_back(set);
      return false;
    }
    return std::exchange(below.stamp, stamp) != stamp;
  });
}

bool lies_in(const std::vector<AddressRange>& ranges, std::uintptr_t address) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](std::uintptr_t at, const AddressRange& one) { return at < one.begin; });
  return after != ranges.begin() && address < std::prev(after)->end;
}

// Its own op and all that would have to run before it, and each set of evicted values that starts from it
// once. What is there now and dies before `until` has to be made again, too: of a gradient whole layers. Once
// the sum is above `enough` it may be left incomplete.
double Evictor::cost_ns(Value& value, std::uint64_t until, double enough) {
  double sum = 0;
  const auto consumers = consumers_.find(&value);
  if (consumers != consumers_.end()) {
    counted_.clear();
    for (const NeighbourSets::Id id : consumers->second) {
      const NeighbourSets::Id set = residency_.neighbours().name_of(id);
      if (std::find(counted_.begin(), counted_.end(), set) != counted_.end()) continue;
      counted_.push_back(set);
      sum += static_cast<double>(residency_.neighbours().cost_ns(set));
    }
  }
  const std::uint64_t stamp = book_.next_stamp();
  waiting_.assign(1, &value);
  while (!waiting_.empty() && sum <= enough) {
    const Value& at = *waiting_.back();
    waiting_.pop_back();
    sum += own_cost_ns(at);
    for (const Input& input : at.recipe->inputs) {
      Value* const below = input.value.get();
      if (below == nullptr || !below->recipe || below->stamp == stamp || will_be_there(*below, until))
        continue;
      below->stamp = stamp;
      waiting_.push_back(below);
    }
  }
  return sum;
}

// At the op with the number `until`.
bool Evictor::will_be_there(const Value& value, std::uint64_t until) const {
  if (!materialised(value)) return false;
  return value.home == nullptr || value.kept || !uses_.is_over_at(*value.home, until);
}

std::optional<Evictor::Candidate> Evictor::candidate_of(StorageRecord& record, const Bounds& bounds) const {
  if (record.bytes < bounds.smallest) return std::nullopt;
  const bool made_again = !bounds.only_offload && Residency::may_evict(record);
  const bool copied = residency_.offloader().may_offload(record);
  if ((!made_again && !copied) || !bounds.place.covers(record.address->device())) return std::nullopt;
  const std::optional<std::uint64_t> idle = uses_.until_next(record, bounds.now);
  const double weight = idle ? static_cast<double>(record.bytes) * uses_.need_within(*idle, bounds.now)
                             : bytes_by_staleness(record.bytes, bounds.now, record.last_use);
  Candidate candidate{&record, nullptr, nullptr, 0, weight, record.bytes, record.serial};
  candidate.made_again = made_again;
  candidate.goes_as_copy = copied && bounds.large > 0 && record.bytes > bounds.large;
  if (idle) candidate.until = bounds.now + *idle;
  if (copied)
    candidate.copy_score = (idle ? 1 : caution_for(record)) *
                           static_cast<double>(residency_.offloader().cost_ns(record)) / weight;
  return candidate;
}

// Of leaves that were overwritten while `evicted` starts from them.
void Evictor::add_copies(StorageRecord& evicted, const Bounds& bounds, std::uint64_t stamp,
                         std::vector<Candidate>& found) {
  for (const Ref<Value>& leaf : evicted.leaves) {
    if (!residency_.offloader().may_offload_kept(*leaf) || std::exchange(leaf->stamp, stamp) == stamp)
      continue;
    const std::uint64_t bytes = leaf->anchor.nbytes();
    if (bytes < bounds.smallest || !bounds.place.covers(leaf->anchor.device())) continue;
    const double weight = bytes_by_staleness(bytes, bounds.now, evicted.last_use);
    Candidate copy{&evicted, leaf.get(), nullptr, 0, weight, bytes, evicted.serial};
    copy.copy_score = static_cast<double>(residency_.offloader().cost_ns(*leaf)) / weight;
    copy.made_again = false;
    found.push_back(copy);
  }
}

std::vector<Evictor::Candidate> Evictor::candidates(const Bounds& bounds) {
  std::vector<Candidate> found;
  const std::uint64_t stamp = book_.next_stamp();
  book_.for_each([&](StorageRecord& record) {
    if (record.evicted) return add_copies(record, bounds, stamp, found);
    if (const auto candidate = candidate_of(record, bounds)) found.push_back(*candidate);
  });
  residency_.spares().for_each_droppable([&](const Spares::Spare& spare) {
    if (bounds.only_offload || !bounds.place.covers(spare.value->anchor.device())) return;
    found.push_back({nullptr, spare.value.get(), nullptr, 0,
                     bytes_by_staleness(spare.bytes, bounds.now, spare.last_use), spare.bytes, 0});
  });
  foreign_.for_each_evictable(bounds.place, [&](ForeignBuffer& buffer) {
    const double weight = bytes_by_staleness(buffer.owner.bytes, bounds.now, buffer.last_use);
    found.push_back({nullptr, nullptr, &buffer, static_cast<double>(buffer.owner.restore_ns) / weight, weight,
                     buffer.owner.bytes, 0});
  });
  return found;
}

// No more than score() of it, whatever else is evicted meanwhile.
double Evictor::least_score(const Candidate& candidate) {
  if (candidate.foreign != nullptr) return candidate.score;
  if (candidate.is_copy() || candidate.goes_as_copy || !candidate.made_again) return candidate.copy_score;
  const Value& value = candidate.is_spare() ? *candidate.value : *candidate.record->current;
  return std::min(own_cost_ns(value) / candidate.weight, candidate.copy_score);
}

// Of its two ways the cheaper.
double Evictor::score(Candidate& candidate, double enough) {
  if (candidate.foreign != nullptr) return candidate.score;
  if (candidate.is_copy()) return candidate.copy_score;
  if (candidate.goes_as_copy) {
    candidate.offloaded = true;
    return candidate.copy_score;
  }
  Value& value = candidate.is_spare() ? *candidate.value : *candidate.record->current;
  constexpr double kAbove = 1 + 1e-9;  // a sum cut short is above both, also after rounding
  const double most = kAbove * candidate.weight * std::min(enough, candidate.copy_score);
  const double again =
      candidate.made_again ? cost_ns(value, candidate.until, most) / candidate.weight : kNever;
  candidate.offloaded = candidate.copy_score < again;
  return std::min(again, candidate.copy_score);
}

bool Evictor::evict(StorageRecord& record) {
  if (!residency_.evict(record)) return false;
  note_consumer(*record.current, book_.next_stamp());
  return true;
}

bool Evictor::take(const Candidate& candidate) {
  if (candidate.foreign != nullptr) return ForeignBuffers::evict(*candidate.foreign);
  if (candidate.is_copy()) return residency_.offloader().offload_kept(*candidate.value, *candidate.record);
  if (candidate.is_spare()) {
    const Ref<Value> value(candidate.value);
    residency_.spares().drop(*value);
    if (residency_.neighbours().set_of(*value) >= 0) note_consumer(*value, book_.next_stamp());
    return true;
  }
  StorageRecord& record = *candidate.record;
  if (candidate.offloaded)
    return residency_.offloader().offload(record) || (candidate.made_again && evict(record));
  return evict(record) || residency_.offloader().offload(record);
}

// An eviction makes others only dearer, as what they start from or what starts from them is evicted. So a
// score that was right once is a lower bound later, and the candidate with the least is the right one if its
// score still holds when it is taken.
std::uint64_t Evictor::make_room(std::uint64_t bytes, const Bounds& bounds) {
  struct Entry {
    double score;  ///< or less than it
    std::uint64_t serial;
    std::size_t at;  ///< of `found`
  };
  // Sums end as far above the next score, so that the same one is not begun again for each small rise of it.
  constexpr double kFurther = 4;
  const auto later = [](const Entry& a, const Entry& b) {
    return a.score != b.score ? a.score > b.score : a.serial > b.serial;
  };
  note_consumers();
  std::vector<Candidate> found = candidates(bounds);
  std::vector<Entry> heap;
  heap.reserve(found.size());
  for (const Candidate& one : found) heap.push_back({least_score(one), one.serial, heap.size()});
  std::make_heap(heap.begin(), heap.end(), later);
  std::uint64_t freed = 0;
  while (freed < bytes && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Candidate& least = found[heap.back().at];
    // An eviction may have found out that this one cannot be made again.
    if (least.is_storage() && least.made_again && !Residency::may_evict(*least.record)) {
      least.made_again = false;
      if (least.copy_score == kNever) {
        heap.pop_back();
        continue;
      }
    }
    const double next = heap.size() > 1 ? heap.front().score : kNever;
    const double present = score(least, kFurther * next);
    if (present > next) {
      heap.back().score = present;
      std::push_heap(heap.begin(), heap.end(), later);
      continue;
    }
    if (take(least)) freed += least.bytes;
    heap.pop_back();
  }
  return freed;
}

bool Evictor::make_contiguous_room(std::uint64_t bytes, const Bounds& bounds, const FreeSpace& space) {
  struct Owned {
    Stretch stretch;
    std::optional<Candidate> candidate;  ///< none: it is free
  };
  std::vector<Owned> owned;
  for (const AddressRange& range : space.free) owned.push_back({{range.begin, range.end, 0, true}, {}});
  note_consumers();
  for (Candidate& candidate : candidates(bounds)) {
    if (!candidate.is_storage()) continue;  // where it lies is not known
    if (!candidate.made_again) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(candidate.record->data);
    if (!lies_in(space.whole, begin)) continue;
    const double cost = score(candidate, kNever);
    if (candidate.offloaded) continue;  // whole segments that go back are a cheaper room for copies
    owned.push_back(
        {{begin, begin + round_up(Bytes(candidate.record->bytes)).value(), cost, false}, candidate});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Owned& a, const Owned& b) { return a.stretch.begin < b.stretch.begin; });
  std::vector<Stretch> stretches;
  for (const Owned& one : owned) stretches.push_back(one.stretch);
  const auto room = cheapest_room(stretches, bytes);
  if (!room) return false;
  bool freed = false;
  for (std::size_t i = room->first; i <= room->last; ++i) {
    if (owned[i].candidate) freed = take(*owned[i].candidate) || freed;
  }
  return freed;
}

}  // namespace stowage::recompute
