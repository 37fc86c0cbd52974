// The CSV formats: what is read is what the file's own program would read, what is written reads back the
// same, and a file that is wrong is one error that names the line.
#include "planner/placement/problem/csv.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

Problem parsed(std::string_view text, const CsvOptions& options = {}) {
  const auto table = parse_csv(text, "p.csv", options);
  EXPECT_TRUE(table.ok()) << table.error().message;
  return table.ok() ? table->problem : Problem{};
}

std::string complaint(std::string_view text) {
  const auto table = parse_csv(text, "p.csv");
  if (table.ok()) return "";
  EXPECT_EQ(table.error().code, ErrorCode::kInvalidArgument);
  return table.error().message;
}

void expect_same(const Problem& a, const Problem& b) {
  ASSERT_EQ(a.items.size(), b.items.size());
  ASSERT_EQ(a.gaps.size(), b.gaps.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    EXPECT_EQ(a.items[i].birth, b.items[i].birth);
    EXPECT_EQ(a.items[i].death, b.items[i].death);
    EXPECT_EQ(a.items[i].size, b.items[i].size);
    EXPECT_EQ(a.items[i].alignment, b.items[i].alignment);
    EXPECT_EQ(a.items[i].fixed, b.items[i].fixed);
  }
  for (std::size_t g = 0; g < a.gaps.size(); ++g) {
    EXPECT_EQ(a.gaps[g].item, b.gaps[g].item);
    EXPECT_EQ(a.gaps[g].begin, b.gaps[g].begin);
    EXPECT_EQ(a.gaps[g].end, b.gaps[g].end);
    EXPECT_EQ(a.gaps[g].upper - a.gaps[g].lower, b.gaps[g].upper - b.gaps[g].lower);
  }
}

TEST(Csv, ReadsColumnsByNameInAnyOrder) {
  const Problem problem = parsed("size,note,upper,id,lower\n7,hello,5,a,2\n9,,6,b,0\n");
  ASSERT_EQ(problem.items.size(), 2u);
  EXPECT_EQ(problem.items[0].birth, 2u);
  EXPECT_EQ(problem.items[0].death, 5u);
  EXPECT_EQ(problem.items[0].size, Bytes(7));
  EXPECT_EQ(problem.items[0].alignment, Bytes(1));
  EXPECT_FALSE(problem.items[0].fixed.has_value());
  EXPECT_EQ(problem.items[1].death, 6u);
}

TEST(Csv, AnEndIsInclusiveAndAnUpperIsNot) {
  EXPECT_EQ(parsed("id,lower,upper,size\n0,2,5,1\n").items[0].death, 5u);
  EXPECT_EQ(parsed("buffer,start,end,size\n0,2,5,1\n").items[0].death, 6u);
  EXPECT_EQ(parsed("buffer_id,begin,upper,size\n0,2,5,1\n").items[0].death, 5u);
  const Problem gaps = parsed("id,begin,end,size,gaps\n0,2,9,4,3-5 7-7@1:3\n");
  ASSERT_EQ(gaps.gaps.size(), 2u);
  EXPECT_EQ(gaps.gaps[0].end, 6u);
  EXPECT_EQ(gaps.gaps[1].end, 8u);
  EXPECT_EQ(gaps.gaps[1].lower, Bytes(1));
  EXPECT_EQ(gaps.gaps[1].upper, Bytes(3));
}

TEST(Csv, IdeallocsInclusiveFilesAreAnOption) {
  const char* text = "id,lower,upper,size\n0,2,5,1\n1,5,6,1\n";
  EXPECT_EQ(lower_bound(parsed(text)), Bytes(1));          // ex-csv and in-ex-csv: the lives do not meet
  EXPECT_EQ(lower_bound(parsed(text, {true})), Bytes(2));  // in-csv: both live at 5
  EXPECT_EQ(parsed("id,lower,end,size\n0,2,5,1\n", {true}).items[0].death, 6u);  // once, not twice
}

TEST(Csv, GapsAreSortedAndEmptyOnesLeftOut) {
  const Problem problem = parsed("id,lower,upper,size,gaps\n0,0,9,4,6-8  1-3@2:4 5-5\n1,0,9,4,\n");
  ASSERT_EQ(problem.gaps.size(), 2u);
  EXPECT_EQ(problem.gaps[0].begin, 1u);
  EXPECT_EQ(problem.gaps[0].lower, Bytes(2));
  EXPECT_EQ(problem.gaps[1].begin, 6u);
  EXPECT_EQ(problem.gaps[1].lower, problem.gaps[1].upper);
}

TEST(Csv, OffsetsAreFixedAndHintsAreKept) {
  const auto table =
      parse_csv("id,lower,upper,size,alignment,hint,offset\nx,0,9,4,8,-1,16\ny,0,9,4,1,5,3\n", "p");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->problem.items[0].fixed, Offset(16));
  EXPECT_EQ(table->problem.items[0].alignment, Bytes(8));
  EXPECT_FALSE(table->hints[0].has_value());
  EXPECT_EQ(table->hints[1], Offset(5));
  EXPECT_EQ(table->ids[1], "y");
}

TEST(Csv, AnEmptyLineEndsTheProblem) {
  EXPECT_EQ(parsed("id,lower,upper,size\n0,0,1,1\n\nthis is, not read\n").items.size(), 1u);
  EXPECT_EQ(parsed("id,lower,upper,size\n0,0,1,1").items.size(), 1u);
  EXPECT_EQ(parsed("id,lower,upper,size\r\n0,0,1,1\r\n\r\nx").items.size(), 1u);
  EXPECT_EQ(parsed("id,lower,upper,size\n").items.size(), 0u);
}

TEST(Csv, WritesTheInputsColumnsAndTheOffsets) {
  const auto table = parse_csv("size,note,end,buffer,begin,hint\n7,n,5,a,2,-1\n9,n,-1,b,0,4\n", "p.csv");
  ASSERT_TRUE(table.ok()) << table.error().message;
  const std::vector<Offset> offsets{Offset(64), Offset(0)};
  EXPECT_EQ(to_csv(*table, offsets), "size,end,buffer,begin,hint,offset\n7,5,a,2,-1,64\n9,-1,b,0,4,0\n");
  const auto again = parse_csv(to_csv(*table, offsets), "q.csv");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->problem.items[0].fixed, Offset(64));
  EXPECT_EQ(to_csv(*again, {}), to_csv(*table, offsets));
}

TEST(Csv, RandomProblemsComeBackTheSame) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 300; ++round) {
    Shape shape;
    shape.items = random() % 20;
    shape.empty = 0.1;
    shape.gaps = round % 2 == 0 ? 0.5 : 0;
    shape.odd_alignment = round % 3 == 0 ? 0.5 : 0;
    Problem problem = random_problem(shape, random);
    if (round % 5 == 0) {
      for (Item& item : problem.items) item.fixed = Offset(item.alignment.value() * (random() % 9));
    }
    auto table = make_table(problem);
    ASSERT_TRUE(table.ok()) << table.error().message;
    if (round % 7 == 0) {
      table->inclusive = true;
      table->columns[2] = "end";
    }
    const auto again = parse_csv(to_csv(*table, {}), "again.csv");
    ASSERT_TRUE(again.ok()) << again.error().message << '\n' << to_csv(*table, {});
    expect_same(problem, again->problem);
    if (HasFailure()) FAIL() << "round " << round << '\n' << to_csv(*table, {});
  }
}

TEST(Csv, WhatTheFormatCannotSayIsRefused) {
  Problem problem = parsed("id,lower,upper,size\n0,0,2,4\n1,0,2,4\n");
  EXPECT_TRUE(make_table(problem).ok());
  Problem cyclic = problem;
  cyclic.period = 2;
  EXPECT_FALSE(make_table(cyclic).ok());
  Problem streams = problem;
  streams.items[1].stream_class = 1;
  EXPECT_FALSE(make_table(streams).ok());
  problem.items[0].fixed = Offset(0);
  EXPECT_FALSE(make_table(problem).ok());
}

TEST(Csv, EveryErrorNamesFileLineAndCause) {
  const std::string head = "id,lower,upper,size,alignment,gaps,offset\n0,0,5,8,4,,0\n";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"1,0,5,8,4,\n", "6 fields"},
      {"1,0,5,8,4,,0,\n", "8 fields"},
      {"1,x,5,8,4,,0\n", "lower \"x\" is not a whole number"},
      {"1,0,5.5,8,4,,0\n", "is not a whole number"},
      {"1,0,,8,4,,0\n", "is not a whole number"},
      {"1,0,0x5,8,4,,0\n", "is not a whole number"},
      {"1,0,99999999999999999999,8,4,,0\n", "is not a whole number"},
      {"1,-1,5,8,4,,0\n", "lower -1 is negative"},
      {"1,0,-5,8,4,,0\n", "negative"},
      {"1,0,5,-8,4,,0\n", "negative"},
      {"1,0,5,8,4,,-4\n", "negative"},
      {"1,6,5,8,4,,0\n", "upper is before lower"},
      {"1,0,5,8,0,,0\n", "alignment is 0"},
      {"1,0,5,8,4,,3\n", "not a multiple"},
      {"1,0,5,4611686018427387904,4,,0\n", "2^62"},
      {"1,0,5,9223372036854775807,4,,9223372036854775804\n", "2^62"},
      {"1,0,5,8,4,3,0\n", "gap \"3\" is not begin-end"},
      {"1,0,5,8,4,1@2-3,0\n", "is not begin-end"},
      {"1,0,5,8,4,1-3@2,0\n", "begin-end@low:high"},
      {"1,0,5,8,4,1-3@2:x,0\n", "is not a whole number"},
      {"1,0,5,8,4,1-6,0\n", "a stretch of the buffer's life"},
      {"1,0,5,8,4,3-1,0\n", "a stretch of the buffer's life"},
      {"1,0,5,8,4,1-3@2:9,0\n", "bytes of the buffer"},
      {"1,0,5,8,4,1-3 2-4,0\n", "overlap"},
  };
  for (const auto& [line, cause] : wrong) {
    const std::string message = complaint(head + line);
    EXPECT_EQ(message.rfind("p.csv:3: ", 0), 0u) << line << " gave: " << message;
    EXPECT_NE(message.find(cause), std::string::npos) << line << " gave: " << message;
  }
  EXPECT_NE(complaint("").find("p.csv:1: the file is empty"), std::string::npos);
  EXPECT_NE(complaint("id,lower,size\n").find("no column upper"), std::string::npos);
  EXPECT_NE(complaint("id,lower,upper,end,size\n").find("the column end appears twice"), std::string::npos);
}

// Any bytes at all: an answer or an error, never a crash; what is accepted makes a sound problem.
TEST(Csv, DamagedFilesAreErrorsOrSoundProblems) {
  std::mt19937_64 random(23);
  const std::string good =
      "id,lower,upper,size,alignment,hint,gaps,offset\n0,0,9,8,4,-1,1-3 5-6@2:4,8\n1,2,9,8,4,7,,0\n";
  const std::string alphabet = std::string("0123456789,-@: \n\r\t\"xe+.\xff") + '\0';
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
      }
      if (text.empty()) text = ",";
    }
    const auto table = parse_csv(text, "p.csv");
    if (!table.ok()) continue;
    ++accepted;
    ASSERT_TRUE(check_problem(table->problem).ok()) << text;
    ASSERT_TRUE(parse_csv(to_csv(*table, {}), "q.csv").ok()) << text;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

TEST(Csv, FilesThatCannotBeReadAreErrors) {
  EXPECT_EQ(read_csv("/no/such/file.csv").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_csv(testing::TempDir()).error().code, ErrorCode::kIo);
  const std::string path = testing::TempDir() + "/empty_problem.csv";
  std::ofstream(path).close();
  EXPECT_NE(read_csv(path).error().message.find("empty"), std::string::npos);
  EXPECT_EQ(read_csv(std::string(STOWAGE_INSTANCES) + "/A.1048576.csv")->problem.items.size(), 154u);
}

}  // namespace
}  // namespace stowage::planner::placement
