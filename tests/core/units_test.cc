// What must compile, and what must not.
#include "core/units.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace stowage {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Equatable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};

// A unit is neither a number nor another unit.
static_assert(!std::is_convertible_v<std::uint64_t, Bytes> && !std::is_convertible_v<Bytes, std::uint64_t>);
static_assert(!std::is_constructible_v<Bytes, Offset> && !std::is_constructible_v<Offset, Bytes>);
static_assert(!std::is_assignable_v<Bytes&, std::uint64_t> && !std::is_assignable_v<Tick&, Offset>);
static_assert(!std::is_constructible_v<BufferId, OpId> && !std::is_constructible_v<StreamId, BufferId>);

// Sums and differences that mean something, and their types.
static_assert(std::is_same_v<decltype(Bytes(1) + Bytes(1)), Bytes>);
static_assert(std::is_same_v<decltype(Offset(1) + Bytes(1)), Offset>);
static_assert(std::is_same_v<decltype(Offset(1) - Offset(1)), Bytes>);

// All others do not compile.
static_assert(!Addable<Offset, Offset> && !Addable<Bytes, Offset> && !Addable<Tick, Tick> &&
              !Addable<Tick, Bytes>);
static_assert(!Addable<Bytes, int> && !Addable<BufferId, BufferId> && !Addable<StreamId, int>);
static_assert(!Subtractable<Offset, Bytes> && !Subtractable<Tick, Bytes> && !Subtractable<OpId, BufferId>);
static_assert(!Multipliable<Bytes, Bytes> && !Multipliable<Bytes, int>);
static_assert(Comparable<Bytes, Bytes> && Comparable<Tick, Tick>);
static_assert(!Comparable<Bytes, Offset> && !Comparable<Bytes, int> && !Equatable<BufferId, OpId>);
static_assert(!Equatable<Tick, Offset> && !Equatable<StreamId, int>);

// As cheap as the number itself.
static_assert(sizeof(Bytes) == 8 && sizeof(BufferId) == 4 && std::is_trivially_copyable_v<Bytes>);

TEST(Units, RoundsUpToTheGranule) {
  EXPECT_EQ(round_up(Bytes(0)), Bytes(0));
  EXPECT_EQ(round_up(Bytes(1)), Bytes(512));
  EXPECT_EQ(round_up(Bytes(512)), Bytes(512));
  EXPECT_EQ(round_up(Bytes(513)), Bytes(1024));
  EXPECT_EQ(round_up(Bytes(~std::uint64_t{0} - 511)), Bytes(~std::uint64_t{0} - 511));
}

TEST(Units, ArithmeticGivesTheNumbersIn) {
  Bytes bytes(10);
  bytes += Bytes(5);
  bytes -= Bytes(1);
  EXPECT_EQ(bytes.value(), 14u);
  EXPECT_EQ(Offset(512) + Bytes(512), Offset(1024));
  EXPECT_EQ(Offset(1024) - Offset(512), Bytes(512));
}

TEST(Units, AbsentIsNoValueThatCanOccur) {
  EXPECT_GT(kNever, Tick(~std::uint64_t{0} - 1));
  EXPECT_EQ(kNoOp.value(), ~std::uint32_t{0});
  EXPECT_EQ(kNoBuffer.value(), ~std::uint32_t{0});
}

TEST(Units, HashTellsValuesApart) {
  const std::unordered_set<Bytes> set{Bytes(1), Bytes(2), Bytes(1)};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace stowage
