// The units of Stowage as distinct types, so that bytes, offsets, ticks and streams cannot be mixed up.
//
// Thread safety: values, trivially copyable. Arithmetic that makes sense is defined, the rest does not
// compile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace stowage {

/// A number of one kind. `Tag` makes the kind a type of its own; `value()` is the only way out.
template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  static constexpr Strong max() { return Strong(std::numeric_limits<Rep>::max()); }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_ = 0;
};

/// An amount of memory, in bytes.
using Bytes = Strong<struct BytesTag, std::uint64_t>;
/// A distance from the base of an arena, in bytes.
using Offset = Strong<struct OffsetTag, std::uint64_t>;
/// The position of an event in a trace, or relative to the beginning of an iteration; never a time.
using Tick = Strong<struct TickTag, std::uint64_t>;
/// Ordinal of a stream within one device: 0 is the default stream, others count up in order of first use.
using StreamId = Strong<struct StreamIdTag, std::uint32_t>;
/// Index of a buffer in its trace.
using BufferId = Strong<struct BufferIdTag, std::uint32_t>;
/// Index of an op in its trace.
using OpId = Strong<struct OpIdTag, std::uint32_t>;

constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.value() + b.value()); }
constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.value() - b.value()); }
constexpr Bytes& operator+=(Bytes& a, Bytes b) { return a = a + b; }
constexpr Bytes& operator-=(Bytes& a, Bytes b) { return a = a - b; }
constexpr Offset operator+(Offset a, Bytes b) { return Offset(a.value() + b.value()); }
constexpr Bytes operator-(Offset a, Offset b) { return Bytes(a.value() - b.value()); }

/// `a` - `b`, or 0 where `b` is more.
constexpr Bytes saturating_sub(Bytes a, Bytes b) { return a > b ? a - b : Bytes(0); }

/// "Not there": a tick that never comes, an op or buffer that is not known.
inline constexpr Tick kNever = Tick::max();
inline constexpr OpId kNoOp = OpId::max();
inline constexpr BufferId kNoBuffer = BufferId::max();

/// Every planned size and offset is a multiple of this, as in PyTorch's native CUDA allocator
/// (kMinBlockSize).
inline constexpr Bytes kGranule{512};

/// Streams, threads and devices are ordinals below this; more is damage, so that tables by ordinal stay
/// small.
inline constexpr std::uint32_t kMaxOrdinal = 1u << 20;

/// All sizes of one trace or plan together are at most this, so that sums of them cannot wrap around.
inline constexpr Bytes kMaxTotal{std::uint64_t{1} << 62};

/// `bytes` rounded up to a multiple of kGranule. Requires: bytes <= 2^64 - 512.
constexpr Bytes round_up(Bytes bytes) {
  return Bytes((bytes.value() + kGranule.value() - 1) / kGranule.value() * kGranule.value());
}

}  // namespace stowage

template <class Tag, class Rep>
struct std::hash<stowage::Strong<Tag, Rep>> {
  std::size_t operator()(stowage::Strong<Tag, Rep> v) const noexcept { return std::hash<Rep>{}(v.value()); }
};
