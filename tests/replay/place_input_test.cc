#include "replay/place/place_input.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/format/trace_file.h"
#include "planner/lifetimes.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/solve.h"
#include "tests/planner/training_traces.h"

namespace stowage::replay {
namespace {

namespace placement = planner::placement;

/// A file in a folder of the test's own, which goes with it.
class PlaceInput : public testing::Test {
 protected:
  PlaceInput() : folder_(testing::TempDir() + "place_input_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~PlaceInput() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

TEST_F(PlaceInput, ATraceIsTheProblemThatThePlannerPlaces) {
  const Trace trace = planner::training_trace(planner::bert());
  ASSERT_TRUE(save_trace(trace, file("job.csv")));  // the name says nothing
  const auto table = read_place_input(file("job.csv"), {});
  ASSERT_TRUE(table) << table.error().message;
  const auto lifetimes = planner::find_lifetimes(trace);
  ASSERT_TRUE(lifetimes);
  EXPECT_EQ(table->problem.period, lifetimes->problem.period);
  ASSERT_EQ(table->problem.items.size(), lifetimes->problem.items.size());
  ASSERT_EQ(table->ids.size(), table->problem.items.size());
  std::size_t spares = 0;
  for (std::size_t i = 0; i < table->ids.size(); ++i) {
    const planner::Slot slot = lifetimes->slots[i];
    EXPECT_EQ(table->ids[i], std::to_string(slot.entry) + (slot.spare ? ".spare" : ""));
    EXPECT_EQ(table->problem.items[i].size, lifetimes->problem.items[i].size);
    spares += slot.spare;
  }
  EXPECT_GT(spares, 0u);  // the batch overlaps its successor
}

TEST_F(PlaceInput, ATracesPlacementIsSoundAndEachBufferHasItsLine) {
  ASSERT_TRUE(save_trace(planner::training_trace(planner::lstm()), file("lstm.stowtrace")));
  const auto table = read_place_input(file("lstm.stowtrace"), {});
  ASSERT_TRUE(table) << table.error().message;
  placement::PlaceOptions options;
  options.work_limit = 50'000'000;
  const auto solution = place(table->problem, options);
  ASSERT_TRUE(solution) << solution.error().message;
  EXPECT_TRUE(validate_placement(table->problem, *solution));
  const std::string text = to_csv(*table, solution->offsets);
  EXPECT_EQ(text.substr(0, text.find('\n')), "id,lower,upper,size,offset");
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), table->ids.size() + 1);
}

TEST_F(PlaceInput, ATableIsReadAsOne) {
  std::ofstream(file("table.csv")) << "id,lower,upper,size\na,0,5,4\nb,5,6,4\n";
  const auto table = read_place_input(file("table.csv"), {.inclusive = true});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->problem.items[0].death, 6u);
  EXPECT_EQ(table->problem.period, 0u);
}

TEST_F(PlaceInput, WhatCannotBePlacedIsAClearError) {
  EXPECT_EQ(read_place_input(file("absent"), {}).error().code, ErrorCode::kNotFound);
  Trace trace = planner::training_trace(planner::vgg16());
  const auto bytes = encode_trace(trace);
  ASSERT_TRUE(bytes);
  std::ofstream(file("short"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size() / 2));
  EXPECT_EQ(read_place_input(file("short"), {}).error().code, ErrorCode::kDamagedFile);
  trace.steady.reset();
  ASSERT_TRUE(save_trace(trace, file("unsteady")));
  EXPECT_EQ(read_place_input(file("unsteady"), {}).error().code, ErrorCode::kUnplannable);
}

}  // namespace
}  // namespace stowage::replay
