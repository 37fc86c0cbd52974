// A whole job through the model of PyTorch's allocator, as PyTorch would have served it from its first
// allocation on.
#include "allocator/model/caching_replay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/model/steady_events.h"

namespace stowage::allocator {
namespace {

constexpr int kMoreIterations = 12;

struct Change {
  Tick tick;
  bool is_free;
  std::uint32_t buffer;
};

std::vector<Change> changes_until(const Trace& trace, Tick end) {
  std::vector<Change> changes;
  changes.reserve(trace.buffers.size() * 2);
  for (std::uint32_t id = 0; id < trace.buffers.size(); ++id) {
    const Buffer& buffer = trace.buffers[id];
    if (buffer.rounded.value() == 0 || buffer.birth >= end) continue;
    changes.push_back({buffer.birth, false, id});
    if (buffer.death != kNever && buffer.death < end) changes.push_back({buffer.death, true, id});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.tick < b.tick; });
  return changes;
}

class CachingReplay {
 public:
  CachingReplay(const Trace& trace, CachingModel::Segments segments)
      : trace_(trace), model_(segments), address_(trace.buffers.size(), 0) {}

  void play_until(Tick end) {
    for (const Change& change : changes_until(trace_, end)) {
      const Buffer& buffer = trace_.buffers[change.buffer];
      std::uint64_t& address = address_[change.buffer];
      if (change.is_free) {
        free(address, buffer.rounded);
      } else {
        address = allocate(buffer);
      }
    }
  }

  /// The steady iteration once more.
  void repeat(const SteadyEvents& steady) {
    std::vector<std::uint64_t> current(steady.allocations.size(), 0);
    if (previous_.empty()) {
      for (const Buffer* buffer : steady.allocations)
        previous_.push_back(address_[static_cast<std::size_t>(buffer - trace_.buffers.data())]);
    }
    for (const SteadyEvent& event : steady.events) {
      const Buffer& buffer = *steady.allocations[event.ordinal];
      if (buffer.rounded.value() == 0) continue;
      std::uint64_t& address = (event.from_previous ? previous_ : current)[event.ordinal];
      if (event.kind == SteadyEvent::Kind::kFree) {
        if (address != 0) free(address, buffer.rounded);
      } else {
        address = allocate(buffer);
      }
    }
    previous_ = std::move(current);
  }

  [[nodiscard]] Figures figures() const { return {peak_live_, model_.reserved()}; }

 private:
  std::uint64_t allocate(const Buffer& buffer) {
    live_ += buffer.rounded;
    peak_live_ = std::max(peak_live_, live_);
    return model_.allocate(buffer.rounded, buffer.stream);
  }
  void free(std::uint64_t& address, Bytes bytes) {
    model_.free(std::exchange(address, 0));
    live_ -= bytes;
  }

  const Trace& trace_;
  CachingModel model_;
  std::vector<std::uint64_t> address_;   // of each buffer; 0 when it is not live
  std::vector<std::uint64_t> previous_;  // of the steady iteration before, by ordinal
  Bytes live_{0};
  Bytes peak_live_{0};
};

}  // namespace

double Figures::fragmentation() const {
  if (reserved.value() == 0 || peak_live >= reserved) return 0;
  return 1.0 - static_cast<double>(peak_live.value()) / static_cast<double>(reserved.value());
}

std::optional<Figures> replay_caching(const Trace& trace, CachingModel::Segments segments) {
  if (!trace.from_first_allocation) return std::nullopt;
  CachingReplay replay(trace, segments);
  const Result<SteadyEvents> steady = steady_events(trace);
  if (!steady) {
    replay.play_until(trace.end);
    return replay.figures();
  }
  replay.play_until(trace.steady->end);
  for (int i = 0; i < kMoreIterations; ++i) replay.repeat(*steady);
  return replay.figures();
}

}  // namespace stowage::allocator
