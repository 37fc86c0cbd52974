// 130,000 damaged files: each gives a named error or a valid object, in little memory, and never a crash.
//
// A failure prints "mutant C:N"; STOWAGE_MUTANT=C:N runs that one alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "core/format/kept_plans_file.h"
#include "core/format/kept_schedule_file.h"
#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "tests/core/memory_meter.h"
#include "tests/core/mutants.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace stowage {
namespace {

using testing::Mutant;
using testing::Mutation;

std::array<char, 64> g_present = {};

/// Names the mutant under test; async-signal-safe.
void print_present() {
  [[maybe_unused]] const ssize_t ignored =
      ::write(STDERR_FILENO, g_present.data(), std::strlen(g_present.data()));
}

void on_crash(int signal) {
  print_present();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Whatever ends the process says which mutant did it.
void name_mutants_upon_crash() {
  if (__sanitizer_set_death_callback != nullptr) return __sanitizer_set_death_callback(print_present);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(signal, on_crash);
}

/// The format's promise for a file of `bytes`: content, then the object made of it, and the strings in both.
std::size_t memory_allowed(std::size_t bytes) {
  return 4 * (bytes * format::kMaxExpansion + format::kFreeExpansionBytes) + 64 * 1024;
}

struct Outcome {
  std::optional<ErrorCode> error;
  Status validity;
};

template <class T>
Outcome outcome_of(const Result<T>& result) {
  if (!result) return {result.error().code, {}};
  return {std::nullopt, result->validate()};
}

Outcome decode(const Mutant& mutant, format::Kind as) {
  if (as == format::Kind::kTrace) return outcome_of(decode_trace(mutant.bytes));
  if (as == format::Kind::kPlan) return outcome_of(decode_plan(mutant.bytes));
  if (as == format::Kind::kKeptSchedule) return outcome_of(decode_kept_schedule(mutant.bytes));
  return outcome_of(decode_kept_plans(mutant.bytes));
}

bool is_named(ErrorCode code) {
  return code == ErrorCode::kForeignFile || code == ErrorCode::kUnknownVersion ||
         code == ErrorCode::kDamagedFile;
}

void check_mutant(Mutation mutation, std::uint32_t number) {
  std::snprintf(g_present.data(), g_present.size(), "mutant %d:%u\n", static_cast<int>(mutation), number);
  const Mutant mutant = make_mutant(mutation, number);
  for (const format::Kind kind :
       {format::Kind::kTrace, format::Kind::kPlan, format::Kind::kKeptPlans, format::Kind::kKeptSchedule}) {
    testing::reset_memory_peak();
    const Outcome outcome = decode(mutant, kind);
    ASSERT_LE(testing::memory_peak(), memory_allowed(mutant.bytes.size())) << g_present.data();
    if (outcome.error) {
      ASSERT_TRUE(is_named(*outcome.error)) << to_string(*outcome.error) << ", " << g_present.data();
      continue;
    }
    ASSERT_EQ(kind, mutant.kind) << g_present.data();
    ASSERT_TRUE(outcome.validity.ok()) << outcome.validity.error().message << ", " << g_present.data();
    ASSERT_TRUE(mutant.sealed || !mutant.changed) << "a change was not found, " << g_present.data();
  }
}

struct Family {
  Mutation mutation;
  std::uint32_t count;
  const char* name;
};

class Mutants : public ::testing::TestWithParam<Family> {};

TEST_P(Mutants, GiveANamedErrorOrAValidObject) {
  if (std::getenv("STOWAGE_MUTANT") != nullptr) GTEST_SKIP() << "one mutant was asked for";
  name_mutants_upon_crash();
  for (std::uint32_t number = 0; number < GetParam().count && !HasFatalFailure(); ++number) {
    check_mutant(GetParam().mutation, number);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mutants,
                         ::testing::Values(Family{Mutation::kTruncate, 5'000, "Truncated"},
                                           Family{Mutation::kFlip, 30'000, "Flipped"},
                                           Family{Mutation::kSplice, 25'000, "Spliced"},
                                           Family{Mutation::kForeign, 10'000, "Foreign"},
                                           Family{Mutation::kRepaired, 30'000, "Repaired"},
                                           Family{Mutation::kContent, 30'000, "Content"}),
                         [](const auto& family) { return std::string(family.param.name); });

TEST(Mutant, AskedForByNumber) {
  const char* asked = std::getenv("STOWAGE_MUTANT");
  if (asked == nullptr) GTEST_SKIP() << "set STOWAGE_MUTANT=C:N to replay one";
  int mutation = 0;
  unsigned number = 0;
  ASSERT_EQ(std::sscanf(asked, "%d:%u", &mutation, &number), 2);
  ASSERT_LT(mutation, static_cast<int>(Mutation::kCount));
  name_mutants_upon_crash();
  check_mutant(static_cast<Mutation>(mutation), number);
}

// The mutants would show nothing if none came past the first checks.
TEST(Mutants, ReachEveryDepth) {
  std::size_t valid = 0;
  std::size_t damaged_within = 0;
  for (std::uint32_t number = 0; number < 2000; ++number) {
    const Mutant mutant = make_mutant(Mutation::kContent, number);
    const Outcome outcome = decode(mutant, mutant.kind);
    (outcome.error ? damaged_within : valid) += mutant.changed ? 1 : 0;
  }
  EXPECT_GT(valid, 100u);
  EXPECT_GT(damaged_within, 500u);
}

TEST(Truncation, EveryLengthOfEveryFileIsFound) {
  for (const auto& file : testing::good_files()) {
    for (std::size_t length = 0; length < file.size(); ++length) {
      const Mutant mutant{
          testing::kind_of(file), Mutation::kTruncate, true, false, {file.data(), file.data() + length}};
      ASSERT_EQ(decode(mutant, mutant.kind).error, ErrorCode::kDamagedFile)
          << length << " of " << file.size();
    }
  }
}

TEST(BitFlip, EveryBitOfTheHeaderAndOfASmallFileIsFound) {
  for (const auto& file : testing::good_files()) {
    const std::size_t limit = file.size() < 1500 ? file.size() : format::kHeaderBytes;
    Mutant mutant{testing::kind_of(file), Mutation::kFlip, true, false, file};
    for (std::size_t bit = 0; bit < limit * 8; ++bit) {
      const auto mask = static_cast<std::byte>(1u << (bit % 8));
      mutant.bytes[bit / 8] ^= mask;
      ASSERT_TRUE(decode(mutant, mutant.kind).error.has_value()) << "bit " << bit;
      mutant.bytes[bit / 8] ^= mask;
    }
  }
}

}  // namespace
}  // namespace stowage
