#include "tests/allocator/job_runner.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "allocator/arena/fault_backend.h"

namespace stowage::allocator::testing {
namespace {

const Edit* find_edit(const std::vector<Edit>& edits, Edit::Kind kind, std::uint32_t at) {
  const auto found = std::find_if(edits.begin(), edits.end(),
                                  [&](const Edit& edit) { return edit.kind == kind && edit.at == at; });
  return found == edits.end() ? nullptr : &*found;
}

}  // namespace

PlannedAllocator make_allocator(std::vector<Plan> plans) {
  std::uint64_t height = 0;
  for (const Plan& plan : plans) height = std::max(height, plan.height.value());
  return PlannedAllocator(
      make_arena(FakeAddressBackend(), Bytes(2 * height + (64u << 20)), Bytes(height)).value(),
      std::move(plans));
}

std::uint64_t misses(const PlannedAllocator& allocator) {
  const ServeCounts counts = allocator.counts();
  return std::accumulate(counts.misses.begin(), counts.misses.end(), std::uint64_t{0});
}

void* JobRunner::allocate(std::uint64_t bytes, std::uint32_t stream) {
  void* const address = allocator_.allocate(Bytes(bytes), StreamId(stream));
  const std::string call =
      "a.allocate(Bytes(" + std::to_string(bytes) + "), StreamId(" + std::to_string(stream) + "));";
  program_ += address == nullptr ? call + "\n" : "void* p" + std::to_string(next_name_) + " = " + call + "\n";
  if (address == nullptr) return nullptr;
  names_[address] = next_name_++;
  check_disjoint(static_cast<const char*>(address), bytes);
  live_bytes_ += bytes;
  if (allocator_.live_bytes() != Bytes(live_bytes_)) complaint_ = "live_bytes() is wrong";
  if (allocator_.size_of(address) != Bytes(bytes)) complaint_ = "size_of() is wrong";
  return address;
}

void JobRunner::check_disjoint(const char* begin, std::uint64_t bytes) {
  const char* const end = begin + bytes;
  const char* const base = static_cast<const char*>(allocator_.arena().base());
  if (!allocator_.owns(begin) || end > base + allocator_.arena().mapped().value()) {
    complaint_ = "a slot outside the mapped arena";
  }
  const auto [at, inserted] = live_.emplace(begin, bytes);
  const auto after = std::next(at);
  const bool overlaps_before = at != live_.begin() && std::prev(at)->first + std::prev(at)->second > begin;
  if (!inserted || overlaps_before || (after != live_.end() && after->first < end))
    complaint_ = "live slots overlap";
}

void JobRunner::free(void* address) {
  if (address == nullptr) return;
  program_ += "a.free(p" + std::to_string(names_[address]) + ");\n";
  live_bytes_ -= live_[static_cast<const char*>(address)];
  live_.erase(static_cast<const char*>(address));
  allocator_.free(address);
}

void JobRunner::mark() {
  program_ += "a.on_mark();\n";
  allocator_.on_mark();
}

void JobRunner::free_kept() {
  for (void* address : kept_) free(address);
  kept_.clear();
}

JobRunner::Followed JobRunner::run(const Job& job, const std::vector<Edit>& edits, bool marked) {
  std::vector<void*> kept_before;
  kept_before.swap(kept_);
  std::vector<void*> addresses(job.bytes.size(), nullptr);
  std::vector<void*> extra;
  Followed followed;
  bool stopped = false;
  for (const Step step : job.steps) {
    if (step.buffer != Step::kAllocate) {
      if (find_edit(edits, Edit::kKeep, step.buffer) != nullptr) kept_.push_back(addresses[step.buffer]);
      if (kept_.empty() || kept_.back() != addresses[step.buffer]) free(addresses[step.buffer]);
      addresses[step.buffer] = nullptr;
      continue;
    }
    const auto buffer = static_cast<std::uint32_t>(followed.size());
    if ((stopped = find_edit(edits, Edit::kStop, buffer) != nullptr)) break;
    for (const Edit& edit : edits) {
      if (edit.kind == Edit::kInsert && edit.at == buffer) extra.push_back(allocate(edit.bytes));
    }
    const auto in_use = [this] {
      return allocator_.counts().misses[static_cast<std::size_t>(Miss::kSlotInUse)];
    };
    const std::uint64_t in_use_before = in_use();
    const Edit* const resize = find_edit(edits, Edit::kResize, buffer);
    if (find_edit(edits, Edit::kSkip, buffer) == nullptr) {
      addresses[buffer] =
          allocate(resize != nullptr ? resize->bytes : job.bytes[buffer], job.streams[buffer]);
    }
    followed.push_back(in_use() > in_use_before || addresses[buffer] != nullptr);
  }
  for (void* address : addresses) free(address);
  for (void* address : extra) free(address);
  for (void* address : kept_before) free(address);
  if (marked && !stopped) mark();
  return followed;
}

}  // namespace stowage::allocator::testing
