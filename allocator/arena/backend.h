// What an arena needs of the memory beneath it, in small named concepts, and the one arena that works on all
// of them.
//
// A backend is a movable value that an arena owns. Contract beyond the signatures:
// - reserve(bytes): a range of addresses aligned to granularity(), of which bytes is a multiple. Errors:
//   kOutOfMemory, kUnsupported.
// - release(range): gives it back exactly as reserve() made it, with nothing mapped.
// - map(part): backs `part`, which lies in a reserved range and is not mapped, in multiples of granularity().
//   All or nothing.
// - unmap(part): exactly a part that map() made.
// - kGrows: false if address range and memory are one, and come and go with reserve() and release(). Then
//   map() is called once, for the whole range, and does nothing.
//
// Thread safety: as its arena's (arena.h): one thread at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocator/arena/arena.h"
#include "core/result.h"
#include "core/support/check.h"
#include "core/units.h"

namespace stowage::allocator {

/// Addresses, backed by memory or not.
struct AddressRange {
  char* base = nullptr;
  Bytes bytes{0};
};

/// The device's memory, of all processes together.
struct MemoryInfo {
  Bytes free{0};
  Bytes total{0};
};

template <class B>
concept ReservesAddresses = requires(B backend, Bytes bytes, AddressRange range) {
  { backend.reserve(bytes) } -> std::same_as<Result<AddressRange>>;
  { backend.release(range) }
  noexcept->std::same_as<void>;
};

template <class B>
concept MapsMemory = requires(B backend, AddressRange part) {
  { backend.map(part) } -> std::same_as<Status>;
  { backend.unmap(part) }
  noexcept->std::same_as<void>;
  { B::kGrows } -> std::convertible_to<bool>;
};

template <class B>
concept ReportsMemory = requires(B backend) {
  {
    backend.granularity()
    } -> std::same_as<Bytes>;  // a power of two, at least kGranule; what is mapped comes in these
  { backend.memory() } -> std::same_as<Result<MemoryInfo>>;
};

template <class B>
concept Backend = std::movable<B> && ReservesAddresses<B> && MapsMemory<B> && ReportsMemory<B>;

/// `bytes` rounded up to a multiple of `granularity`, at least one. Bytes::max() if there is no such number.
constexpr Bytes round_up_to(Bytes bytes, Bytes granularity) {
  const std::uint64_t unit = granularity.value();
  const std::uint64_t units =
      bytes.value() / unit + (bytes.value() % unit != 0 || bytes.value() == 0 ? 1 : 0);
  return units > Bytes::max().value() / unit ? Bytes::max() : Bytes(units * unit);
}

/// How large the segments of an arena of `mapped` bytes are: small enough that a tensor which stays keeps
/// little else, and few, since mapping one costs tens of microseconds. A multiple of `granularity`.
constexpr Bytes segment_size(Bytes mapped, Bytes granularity) {
  constexpr std::uint64_t kMost = 512;
  constexpr Bytes kLeast{std::uint64_t{2} << 20};  // a huge page
  const Bytes share(std::bit_ceil((mapped.value() + kMost - 1) / kMost));
  return std::max({share, kLeast, granularity});
}

/// The same for an arena whose addresses are many times what will have memory.
constexpr Bytes small_segment_size(Bytes mapped, Bytes granularity) {
  constexpr std::uint64_t kSharesMore = 32;
  return segment_size(Bytes(mapped.value() / kSharesMore), granularity);
}

/// The same for the `more` bytes that an arena grows by, to `mapped`: plans made soon are followed by lower
/// ones, which should keep little of that.
constexpr Bytes further_segment_size(Bytes more, Bytes mapped, Bytes granularity) {
  constexpr std::uint64_t kMost = 16;
  const Bytes share(std::bit_ceil((more.value() + kMost - 1) / kMost));
  return std::min(std::max(share, granularity), segment_size(mapped, granularity));
}

/// The arena over any backend: each segment is one map() call.
template <Backend B>
class BackendArena final : public Arena {
 public:
  /// Takes over `range`, which `backend` has reserved.
  BackendArena(B backend, AddressRange range, Backing backing)
      : backend_(std::move(backend)),
        range_(range),
        commits_(!B::kGrows || backing == Backing::kNow),
        small_(backing == Backing::kInPages) {}
  ~BackendArena() override {
    drop_from(0);
    backend_.release(range_);
  }

  [[nodiscard]] void* base() const noexcept override { return range_.base; }
  [[nodiscard]] Bytes reserved() const noexcept override { return range_.bytes; }
  [[nodiscard]] Bytes mapped() const noexcept override {
    return Bytes(segments_.empty() ? 0 : segments_.back().end);
  }
  [[nodiscard]] Bytes committed() const noexcept override { return committed_; }
  [[nodiscard]] std::vector<Segment> segments() const override { return segments_; }

  Status grow(Bytes bytes) override {
    if (bytes <= mapped()) return {};
    if (bytes > range_.bytes) return beyond_reserved(bytes);
    const Bytes target = B::kGrows ? round_up_to(bytes, backend_.granularity()) : range_.bytes;
    const Bytes size = B::kGrows ? size_of_segments(target) : target;
    const std::size_t before = segments_.size();
    // So that nothing can fail once memory is mapped.
    segments_.reserve(before + (target - mapped()).value() / size.value() + 1);
    while (mapped() < target) {
      const std::uint64_t begin = mapped().value();
      segments_.push_back({begin, std::min(begin + size.value(), target.value()), false});
      if (!commits_) continue;
      Status done = commit(segments_.size() - 1);
      if (done.ok()) continue;
      drop_from(before);
      return done;
    }
    return {};
  }

  bool decommit(std::size_t index) noexcept override {
    Segment& segment = segments_[index];
    if (!B::kGrows || !segment.committed) return false;
    unmap(segment);
    return true;
  }

  Status commit(std::size_t index) override {
    Segment& segment = segments_[index];
    if (segment.committed) return {};
    if (Status mapped = backend_.map(range_of(segment)); !mapped.ok()) return mapped;
    segment.committed = true;
    committed_ += segment.bytes();
    return {};
  }

 private:
  [[nodiscard]] AddressRange range_of(const Segment& segment) const {
    return {range_.base + segment.begin, segment.bytes()};
  }
  [[nodiscard]] Bytes size_of_segments(Bytes target) const {
    const Bytes page = backend_.granularity(), before = mapped();
    if (before > Bytes(0)) return further_segment_size(target - before, target, page);
    return small_ ? small_segment_size(target, page) : segment_size(target, page);
  }
  void unmap(Segment& segment) noexcept {
    if (!std::exchange(segment.committed, false)) return;
    backend_.unmap(range_of(segment));
    committed_ -= segment.bytes();
  }
  void drop_from(std::size_t first) noexcept {
    while (segments_.size() > first) {
      unmap(segments_.back());
      segments_.pop_back();
    }
  }
  [[nodiscard]] Status beyond_reserved(Bytes bytes) const {
    return Error{ErrorCode::kOutOfMemory, "the arena reserves " + std::to_string(range_.bytes.value()) +
                                              " bytes of addresses and cannot grow to " +
                                              std::to_string(bytes.value()) +
                                              ": make it with a larger reservation"};
  }

  B backend_;
  AddressRange range_;
  bool commits_;  ///< memory for what is put in service
  bool small_;    ///< segments are small
  Bytes committed_{0};
  std::vector<Segment> segments_;
};

/// An arena of at least `reserved` bytes of addresses, the first `mapped` of them in service; both are
/// rounded up. Where the backend cannot grow, the arena has `mapped` bytes and no more, for any `reserved`
/// is. Requires: mapped <= reserved. Errors: those of the backend; nothing is left behind then.
template <Backend B>
Result<std::unique_ptr<Arena>> make_arena(B backend, Bytes reserved, Bytes mapped,
                                          Backing backing = Backing::kNow) {
  STOWAGE_CHECK(mapped <= reserved, "an arena cannot map more than it reserves");
  const Bytes wanted = round_up_to(B::kGrows ? reserved : mapped, backend.granularity());
  Result<AddressRange> range = backend.reserve(wanted);
  if (!range.ok()) return range.error();
  auto arena = std::make_unique<BackendArena<B>>(std::move(backend), *range, backing);
  if (Status grown = arena->grow(mapped); !grown.ok()) return grown.error();
  return std::unique_ptr<Arena>(std::move(arena));
}

}  // namespace stowage::allocator
