#include "tracer/recorder/buffer_book.h"

#include <algorithm>

namespace stowage::tracer {
namespace {

std::uintptr_t to_number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void BufferBook::add(const void* address, const Buffer& buffer) {
  live_.insert(to_number(address), log_.end());
  log_.push(buffer);
  live_bytes_ += buffer.rounded.value();
}

Buffer* BufferBook::find(const void* address) {
  const std::uint64_t* key = live_.find(to_number(address));
  return key != nullptr ? &at(*key) : nullptr;
}

bool BufferBook::close(const void* address, Tick tick) {
  const std::uint64_t* found = live_.find(to_number(address));
  if (found == nullptr) return false;
  const std::uint64_t key = *found;
  live_.erase(to_number(address));
  end(key, tick);
  return true;
}

void BufferBook::end(std::uint64_t key, Tick tick) {
  Buffer& buffer = at(key);
  buffer.death = tick;
  if (buffer.free_requested == kNever) buffer.free_requested = tick;
  if (key < kDiscovered) live_bytes_ -= buffer.rounded.value();
  if (!aliases_.empty()) drop_aliases(key);
}

void BufferBook::set_aside(const void* address, std::uint64_t id) {
  const std::uint64_t* found = live_.find(to_number(address));
  if (found == nullptr || *found >= kDiscovered) return;
  const std::uint64_t key = *found;
  live_.erase(to_number(address));
  if (!aliases_.empty()) drop_aliases(key);
  aside_[id] = key;
}

bool BufferBook::bring_back(const void* address, std::uint64_t id) {
  const auto found = aside_.find(id);
  if (found == aside_.end()) return false;
  live_.insert(to_number(address), found->second);
  aside_.erase(found);
  return true;
}

void BufferBook::close_aside(std::uint64_t id, Tick tick) {
  const auto found = aside_.find(id);
  if (found == aside_.end()) return;
  end(found->second, tick);
  aside_.erase(found);
}

std::uint64_t BufferBook::resolve(const void* address, Bytes bytes, Tick now) {
  const std::uintptr_t number = to_number(address);
  if (number == 0) return kNoKey;
  std::uint64_t key = kNoKey;
  if (const std::uint64_t* found = live_.find(number)) {
    key = *found;
  } else if (bytes >= kGranule && (key = find_around(number)) != kNoKey) {
    live_.insert(number, key);
    aliases_.emplace_back(key, number);
  } else {
    key = discover(number, bytes, now);
  }
  if (key >= kDiscovered) kept_.at(key).last_use = now;
  return key;
}

// The buffer that `address` lies inside of. A scan, but each inner address is looked for only once.
std::uint64_t BufferBook::find_around(std::uintptr_t address) {
  std::uint64_t result = kNoKey;
  live_.for_each([&](std::uintptr_t start, std::uint64_t key) {
    const bool inside = address > start && address - start < at(key).rounded.value();
    if (inside && std::find(aliases_.begin(), aliases_.end(), std::pair(key, start)) == aliases_.end())
      result = key;
  });
  return result;
}

std::uint64_t BufferBook::discover(std::uintptr_t address, Bytes bytes, Tick now) {
  const std::uint64_t key = next_discovered_++;
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.rounded = round_up(Bytes(std::max<std::uint64_t>(bytes.value(), 1)));
  buffer.preexisting = true;
  kept_.emplace(key, Kept{buffer, address, now});
  live_.insert(address, key);
  return key;
}

void BufferBook::drop_aliases(std::uint64_t key) {
  std::erase_if(aliases_, [&](const auto& alias) {
    if (alias.first == key) live_.erase(alias.second);
    return alias.first == key;
  });
}

void BufferBook::forget_before(std::uint64_t key, Tick base) {
  for (std::uint64_t i = log_.begin(); i < key; ++i) {
    if (outlives(log_[i], base)) kept_.emplace(i, Kept{log_[i]});
  }
  log_.forget_before(key);
  prune(base);
}

void BufferBook::prune(Tick base) {
  std::erase_if(kept_, [&](const auto& entry) {
    const Kept& kept = entry.second;
    if (!outlives(kept.buffer, base)) return true;
    // Memory of other owners (NumPy, shared memory) is never seen freed: unused since `base` is as good as
    // gone.
    if (entry.first < kDiscovered || kept.buffer.death != kNever || kept.last_use >= base) return false;
    live_.erase(kept.address);
    drop_aliases(entry.first);
    return true;
  });
}

}  // namespace stowage::tracer
