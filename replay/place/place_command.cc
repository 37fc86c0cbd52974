#include "replay/place/place_command.h"

#include <time.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/format/file_io.h"
#include "planner/placement/problem/csv.h"
#include "planner/placement/solve.h"
#include "replay/place/place_input.h"
#include "replay/place/place_options.h"
#include "replay/place/place_report.h"

namespace stowage::replay {
namespace {

namespace placement = planner::placement;

int fail(const Error& error) {
  std::fprintf(stderr, "stowage place: error: %s\n", error.message.c_str());
  return static_cast<int>(PlaceExit::kError);
}

/// Where the offsets go; empty: nowhere.
std::string output_of(const PlaceArguments& arguments) {
  if (arguments.output == "none") return {};
  if (!arguments.output.empty()) return arguments.output;
  return std::filesystem::path(arguments.problem).stem().string() + ".placed.csv";
}

Status write_offsets(const std::string& output, const placement::CsvTable& table,
                     const placement::Solution& solution) {
  const std::string text = placement::to_csv(table, solution.offsets);
  if (output != "-") {
    const Status written = format::write_file(output, std::as_bytes(std::span(text)));
    return written ? written : Error{written.error().code, output + ": " + written.error().message};
  }
  if (!(std::cout << text << std::flush)) return Error{ErrorCode::kIo, "standard output cannot be written"};
  return {};
}

/// Seconds of the process's threads together.
double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

int run(PlaceArguments& arguments) {
  auto table = read_place_input(arguments.problem, {arguments.inclusive});
  if (!table) return fail(table.error());
  if (arguments.capacity) table->problem.capacity = arguments.capacity;
  const auto begun = std::chrono::steady_clock::now();
  const double cpu_begun = cpu_seconds();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  if (arguments.progress) {
    arguments.options.on_better = [&](const placement::Solution& solution) {
      std::fprintf(stderr, "%8.3f s  %s\n", seconds(), progress_line(solution).c_str());
    };
  }
  const auto solution = place(table->problem, arguments.options);
  if (!solution) return fail(solution.error());
  PlaceReport report{*table, *solution, seconds(), cpu_seconds() - cpu_begun, {}};
  if (fits(table->problem, *solution)) {
    report.output = output_of(arguments);
    if (!report.output.empty()) {
      if (Status status = write_offsets(report.output, *table, *solution); !status)
        return fail(status.error());
    }
  }
  std::FILE* const stream = report.output == "-" ? stderr : stdout;
  std::fprintf(stream, "%s\n", arguments.json ? to_json(report).dump(2).c_str() : to_text(report).c_str());
  if (fits(table->problem, *solution)) return static_cast<int>(PlaceExit::kPlaced);
  return static_cast<int>(is_proved_too_small(report) ? PlaceExit::kTooSmall : PlaceExit::kNotFound);
}

}  // namespace

int place_command(int argc, char** argv) {
  auto arguments = parse_place_arguments(argc, argv);
  if (!arguments) return fail(arguments.error());
  return *arguments ? run(**arguments) : static_cast<int>(PlaceExit::kPlaced);
}

}  // namespace stowage::replay
