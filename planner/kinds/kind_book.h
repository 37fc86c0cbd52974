// Learns the kinds of iterations of a job from its traces: every window that a mark ends is an iteration, and
// windows that make the same allocations are of one kind.
//
// A trace shows some iterations in the order in which they came. The book keeps the most it ever saw of each
// lifetime, so that traces of several stretches of a job add up, and the same trace twice changes nothing.
//
// Thread safety: none. Invariant: kinds keep their number for as long as the book lives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "core/plan.h"
#include "core/result.h"
#include "core/trace.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

class KindBook {
 public:
  /// Whether iterations of this fingerprint are wanted; those that are not belong to no kind.
  using Wanted = std::function<bool(std::uint64_t fingerprint)>;

  /// Reads all windows of `trace` whose fingerprint is wanted or known already. What was alive before the
  /// trace is no kind's, and of what the last window leaves only its own iteration is known. Error:
  /// kUnplannable when events were dropped; nothing is learned then. O(events log events).
  Status observe(const Trace& trace, const Wanted& wanted);

  /// Learns the kind that `plan` is for, as far as a plan shows its lifetimes, unless it is known: what
  /// crosses is taken to live until its successor is born. O(entries).
  void adopt(const Plan& plan);

  /// Gives the kind that `plan` is for the next number, unless it is known; observe() is to show its
  /// lifetimes.
  void expect(const Plan& plan);

  [[nodiscard]] bool knows(std::uint64_t fingerprint) const { return numbers_.contains(fingerprint); }
  [[nodiscard]] std::size_t size() const { return kinds_.size(); }
  /// The kind of `fingerprint`, or null. Valid until the book learns more.
  [[nodiscard]] const Kind* find(std::uint64_t fingerprint) const;
  /// The most of Allocation::outlived. O(allocations).
  [[nodiscard]] std::uint32_t outlived_at_most() const;
  /// All that was learned, with what kinds have in common (roles.h). `history` is that of the trace that was
  /// read last.
  [[nodiscard]] Kinds kinds() const;

 private:
  class Reader;
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  std::vector<Kind> kinds_;
  std::map<std::uint64_t, std::uint32_t> numbers_;           ///< by fingerprint
  std::map<Key, std::map<Key, std::uint32_t>> transitions_;  ///< (from, to) → (kind, allocation) → death
  std::vector<std::uint32_t> history_;
};

}  // namespace stowage::planner
