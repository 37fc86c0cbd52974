#include "replay/place_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/format/file_io.h"
#include "planner/placement/csv.h"
#include "planner/placement/solve.h"
#include "replay/place_report.h"

namespace stowage::replay {
namespace {

namespace placement = planner::placement;

struct Arguments {
  std::string problem;
  std::string output;
  std::uint64_t capacity = 0;
  bool has_capacity = false;
  bool inclusive = false;
  bool json = false;
  bool progress = false;
  std::vector<std::string> without;
  placement::PlaceOptions options;
};

int fail(const Error& error) {
  std::fprintf(stderr, "stowage place: %s\n", error.message.c_str());
  return static_cast<int>(PlaceExit::kError);
}

const std::map<std::string, bool placement::Techniques::*>& techniques() {
  using placement::Techniques;
  static const std::map<std::string, bool Techniques::*> names{
      {"boosting", &Techniques::boosting}, {"exact", &Techniques::exact},
      {"bisect", &Techniques::bisect},     {"windows", &Techniques::windows},
      {"proofs", &Techniques::proofs},     {"explain", &Techniques::explain}};
  return names;
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("problem", arguments.problem,
                 "CSV with the columns id,lower,upper,size; see docs/placement.md")
      ->required();
  app.add_option(
      "-o,--output", arguments.output,
      "where the offsets go, as the problem's columns and one more; - is standard output, none is nowhere; "
      "default: the problem's name with .placed.csv, in this folder");
  app.add_option("-c,--capacity", arguments.capacity,
                 "bytes that must do, such as 1048576 or 80GiB; default: the least")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("-t,--time-limit", arguments.options.time_limit_s, "seconds")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--work-limit", arguments.options.work_limit,
                 "steps, about 1 ns each: the result is then the same on every machine")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", arguments.options.seed, "another seed is another search")->capture_default_str();
  app.add_option("--threads", arguments.options.threads, "threads at once; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_flag(
      "--inclusive", arguments.inclusive,
      "upper is the last tick alive, as in idealloc's in-csv and IREE; a column named end always is");
  std::vector<std::string> names;
  for (const auto& [name, member] : techniques()) names.push_back(name);
  app.add_option("--without", arguments.without, "techniques not to use")
      ->check(CLI::IsMember(names))
      ->delimiter(',');
  app.add_flag("--lp-solve", arguments.options.techniques.window_ilp, "solve windows by lp_solve");
  app.add_flag("--progress", arguments.progress, "say each better height on standard error");
  app.add_flag("--json", arguments.json, "print the result as JSON");
  app.footer(
      "Exit status: 0 placed; 1 an error; 3 nothing fits the capacity, which is proved; 4 nothing that fits "
      "was found in time.");
}

/// Where the offsets go; empty: nowhere.
std::string output_of(const Arguments& arguments) {
  if (arguments.output == "none") return {};
  if (!arguments.output.empty()) return arguments.output;
  return std::filesystem::path(arguments.problem).stem().string() + ".placed.csv";
}

Status write_offsets(const std::string& output, const placement::CsvTable& table,
                     const placement::Solution& solution) {
  const std::string text = placement::to_csv(table, solution.offsets);
  if (output != "-") return format::write_file(output, std::as_bytes(std::span(text)));
  if (!(std::cout << text << std::flush)) return Error{ErrorCode::kIo, "standard output cannot be written"};
  return {};
}

int run(Arguments& arguments) {
  auto table = placement::read_csv(arguments.problem, {arguments.inclusive});
  if (!table) return fail(table.error());
  if (arguments.has_capacity) table->problem.capacity = Bytes(arguments.capacity);
  for (const std::string& name : arguments.without)
    arguments.options.techniques.*techniques().at(name) = false;
  const auto begun = std::chrono::steady_clock::now();
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
  PlaceReport report{*table, *solution, seconds(), {}};
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
  CLI::App app{"Places buffers with known lifetimes in as little memory as possible, or in a given capacity.",
               "stowage place"};
  Arguments arguments;
  arguments.options.time_limit_s = 10;
  arguments.options.work_limit = std::numeric_limits<std::int64_t>::max();
  add_options(app, arguments);
  CLI11_PARSE(app, argc, argv);
  arguments.has_capacity = app.count("--capacity") != 0;
  return run(arguments);
}

}  // namespace stowage::replay
