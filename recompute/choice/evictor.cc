#include "recompute/choice/evictor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/units.h"
#include "recompute/choice/contiguous_room.h"
#include "recompute/recipe/walk_down.h"

namespace stowage::recompute {
namespace {

double bytes_by_staleness(std::uint64_t bytes, std::uint64_t now, std::uint64_t last_use) {
  return static_cast<double>(bytes) * static_cast<double>(now - std::min(now, last_use) + 1);
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
// once. Once the sum is above `enough` it may be left incomplete.
double Evictor::cost_ns(Value& value, double enough) {
  constexpr double kReplayNs = 2000;  // what running any op again costs at least
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
    sum += static_cast<double>(at.recipe->signature->cost_ns()) + kReplayNs;
    for (const Input& input : at.recipe->inputs) {
      Value* const below = input.value.get();
      if (below == nullptr || !below->recipe || below->stamp == stamp || materialised(*below)) continue;
      below->stamp = stamp;
      waiting_.push_back(below);
    }
  }
  return sum;
}

std::vector<Evictor::Candidate> Evictor::candidates(std::uint64_t smallest, Place place, std::uint64_t now) {
  std::vector<Candidate> found;
  book_.for_each([&](StorageRecord& record) {
    if (record.bytes < smallest || !Residency::may_evict(record)) return;
    if (!place.covers(record.address->device())) return;
    found.push_back({&record, nullptr, nullptr, 0, bytes_by_staleness(record.bytes, now, record.last_use),
                     record.bytes, record.serial});
  });
  residency_.spares().for_each_droppable([&](const Spares::Spare& spare) {
    if (!place.covers(spare.value->anchor.device())) return;
    found.push_back({nullptr, spare.value.get(), nullptr, 0,
                     bytes_by_staleness(spare.bytes, now, spare.last_use), spare.bytes, 0});
  });
  foreign_.for_each_evictable(place, [&](ForeignBuffer& buffer) {
    const double weight = bytes_by_staleness(buffer.owner.bytes, now, buffer.last_use);
    found.push_back({nullptr, nullptr, &buffer, static_cast<double>(buffer.owner.restore_ns) / weight, weight,
                     buffer.owner.bytes, 0});
  });
  return found;
}

double Evictor::score(const Candidate& candidate, double enough) {
  if (candidate.foreign != nullptr) return candidate.score;
  Value& value = candidate.spare != nullptr ? *candidate.spare : *candidate.record->current;
  return cost_ns(value, enough * candidate.weight) / candidate.weight;
}

bool Evictor::evict(const Candidate& candidate) {
  if (candidate.foreign != nullptr) return ForeignBuffers::evict(*candidate.foreign);
  if (candidate.spare != nullptr) {
    const Ref<Value> value(candidate.spare);
    residency_.spares().drop(*value);
    if (residency_.neighbours().set_of(*value) >= 0) note_consumer(*value, book_.next_stamp());
    return true;
  }
  if (!residency_.evict(*candidate.record)) return false;
  note_consumer(*candidate.record->current, book_.next_stamp());
  return true;
}

// An eviction makes others only dearer, as what they start from or what starts from them is evicted. So a
// score that was right once is a lower bound later, and the candidate with the least is the right one if its
// score still holds when it is taken.
std::uint64_t Evictor::make_room(std::uint64_t bytes, std::uint64_t smallest, Place place,
                                 std::uint64_t now) {
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.serial > b.serial;
  };
  note_consumers();
  std::vector<Candidate> heap = candidates(smallest, place, now);
  std::make_heap(heap.begin(), heap.end(), later);
  std::uint64_t freed = 0;
  while (freed < bytes && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Candidate& least = heap.back();
    // An eviction may have found out that this one cannot be made again.
    if (least.record != nullptr && !Residency::may_evict(*least.record)) {
      heap.pop_back();
      continue;
    }
    const double next = heap.size() > 1 ? heap.front().score : std::numeric_limits<double>::infinity();
    const double present = score(least, next);
    if (present > next) {
      least.score = present;
      std::push_heap(heap.begin(), heap.end(), later);
      continue;
    }
    if (evict(least)) freed += least.bytes;
    heap.pop_back();
  }
  return freed;
}

bool Evictor::make_contiguous_room(std::uint64_t bytes, std::uint64_t smallest, Place place,
                                   std::uint64_t now, const FreeSpace& space) {
  struct Owned {
    Stretch stretch;
    StorageRecord* record;
  };
  std::vector<Owned> owned;
  for (const AddressRange& range : space.free) owned.push_back({{range.begin, range.end, 0, true}, nullptr});
  note_consumers();
  for (const Candidate& candidate : candidates(smallest, place, now)) {
    if (candidate.record == nullptr) continue;  // where it lies is not known
    const auto begin = reinterpret_cast<std::uintptr_t>(candidate.record->data);
    if (!lies_in(space.whole, begin)) continue;
    const double cost = score(candidate, std::numeric_limits<double>::infinity());
    owned.push_back(
        {{begin, begin + round_up(Bytes(candidate.record->bytes)).value(), cost, false}, candidate.record});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Owned& a, const Owned& b) { return a.stretch.begin < b.stretch.begin; });
  std::vector<Stretch> stretches;
  for (const Owned& one : owned) stretches.push_back(one.stretch);
  const auto room = cheapest_room(stretches, bytes);
  if (!room) return false;
  bool evicted = false;
  for (std::size_t i = room->first; i <= room->last; ++i) {
    if (owned[i].record != nullptr) evicted = residency_.evict(*owned[i].record) || evicted;
  }
  return evicted;
}

}  // namespace stowage::recompute
