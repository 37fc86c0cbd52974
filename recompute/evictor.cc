#include "recompute/evictor.h"

#include <algorithm>

#include "core/mix.h"
#include "recompute/window.h"

namespace stowage::recompute {
namespace {

double score_of(double cost_ns, std::uint64_t bytes, std::uint64_t now, std::uint64_t last_use) {
  const auto staleness = static_cast<double>(now - std::min(now, last_use) + 1);
  return cost_ns / (static_cast<double>(bytes) * staleness);
}

}  // namespace

void Evictor::note_consumers() {
  consumers_.clear();
  book_.for_each([&](StorageRecord& record) {
    if (!record.evicted || !record.current->recipe) return;
    const NeighbourSets::Id set = residency_.set_of(*record.current);
    if (set < 0) return;
    for (const Input& input : record.current->recipe->inputs) {
      if (input.value) consumers_[input.value.get()].push_back(residency_.name_of_set(set));
    }
  });
}

// Its own op, and each set of absent values next to it once.
double Evictor::neighbourhood_ns(Value& value) {
  constexpr double kReplayNs = 2000;  // what running any op again costs at least
  double sum = static_cast<double>(value.recipe->kind->cost_ns()) + kReplayNs;
  std::vector<NeighbourSets::Id> counted;
  const auto count = [&](NeighbourSets::Id set) {
    if (std::find(counted.begin(), counted.end(), set) != counted.end()) return;
    counted.push_back(set);
    sum += static_cast<double>(residency_.cost_of_set_ns(set));
  };
  for (const Input& input : value.recipe->inputs) {
    if (!input.value || !input.value->recipe || Residency::materialised(*input.value)) continue;
    const NeighbourSets::Id set = residency_.set_of(*input.value);
    if (set >= 0) {
      count(residency_.name_of_set(set));
    } else {
      sum += static_cast<double>(input.value->recipe->kind->cost_ns());
    }
  }
  const auto consumers = consumers_.find(&value);
  if (consumers != consumers_.end()) {
    for (const NeighbourSets::Id set : consumers->second) count(residency_.name_of_set(set));
  }
  return sum;
}

std::vector<Evictor::Candidate> Evictor::candidates(std::uint64_t smallest, int device_type,
                                                    std::uint64_t now) {
  note_consumers();
  std::vector<Candidate> found;
  book_.for_each([&](StorageRecord& record) {
    if (record.bytes < smallest || !Residency::may_evict(record)) return;
    if (static_cast<int>(record.address->device_type()) != device_type) return;
    const double score = score_of(neighbourhood_ns(*record.current), record.bytes, now, record.last_use);
    found.push_back({&record, nullptr, score, record.bytes});
  });
  foreign_.for_each_evictable(device_type, [&](ForeignBuffer& buffer) {
    const double score =
        score_of(static_cast<double>(buffer.owner.restore_ns), buffer.owner.bytes, now, buffer.last_use);
    found.push_back({nullptr, &buffer, score, buffer.owner.bytes});
  });
  return found;
}

bool Evictor::evict(const Candidate& candidate) {
  return candidate.record != nullptr ? residency_.evict(*candidate.record)
                                     : ForeignBuffers::evict(*candidate.foreign);
}

std::uint64_t Evictor::make_room(std::uint64_t bytes, std::uint64_t smallest, int device_type,
                                 std::uint64_t now) {
  std::uint64_t freed = 0;
  while (freed < bytes) {
    std::vector<Candidate> found = candidates(smallest, device_type, now);
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      if (a.score != b.score || a.record == nullptr || b.record == nullptr) return a.score < b.score;
      return a.record->serial < b.record->serial;
    });
    // Scores change with what is evicted: after a few, they are taken anew.
    constexpr std::size_t kPerScan = 8;
    std::size_t evicted = 0;
    for (const Candidate& candidate : found) {
      if (!evict(candidate)) continue;
      freed += candidate.bytes;
      if (freed >= bytes || ++evicted == kPerScan) break;
    }
    if (evicted == 0) break;
  }
  return freed;
}

bool Evictor::make_window(std::uint64_t bytes, std::uint64_t smallest, int device_type, std::uint64_t now,
                          std::span<const FreeRange> free) {
  struct Owned {
    Piece piece;
    StorageRecord* record;
  };
  std::vector<Owned> owned;
  for (const FreeRange& range : free) owned.push_back({{range.begin, range.end, 0, true}, nullptr});
  for (const Candidate& candidate : candidates(smallest, device_type, now)) {
    if (candidate.record == nullptr) continue;  // where it lies is not known
    const auto begin = reinterpret_cast<std::uintptr_t>(candidate.record->data);
    owned.push_back(
        {{begin, begin + round_up(Bytes(candidate.record->bytes)).value(), candidate.score, false},
         candidate.record});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Owned& a, const Owned& b) { return a.piece.begin < b.piece.begin; });
  std::vector<Piece> pieces;
  for (const Owned& one : owned) pieces.push_back(one.piece);
  const auto window = cheapest_window(pieces, bytes);
  if (!window) return false;
  bool all = true;
  for (std::size_t i = window->first; i <= window->last; ++i) {
    if (owned[i].record != nullptr) all = residency_.evict(*owned[i].record) && all;
  }
  return all;
}

void Evictor::evict_some(std::uint64_t seed, std::uint64_t smallest, std::uint64_t now) {
  std::vector<StorageRecord*> found;
  book_.for_each([&](StorageRecord& record) {
    if (record.bytes >= smallest && Residency::may_evict(record)) found.push_back(&record);
  });
  for (StorageRecord* record : found) {
    if ((mix(seed + mix(now * kGoldenGamma + record->serial)) & 1) != 0) residency_.evict(*record);
  }
}

}  // namespace stowage::recompute
