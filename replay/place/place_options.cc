#include "replay/place/place_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace stowage::replay {
namespace {

namespace placement = planner::placement;
using placement::PlaceOptions;

/// Calls f(name, value) with each switch that the command line has.
template <class F>
void for_switches(PlaceOptions& options, const F& f) {
  for (const placement::TechniqueSwitch& technique : placement::kTechniqueSwitches)
    f(technique.name, options.techniques.*technique.value);
  for (const placement::search::SearchSwitch& of_search : placement::search::kSearchSwitches)
    f(of_search.name, options.search.*of_search.value);
}

/// The names of all switches that are `on` by default.
std::vector<std::string> names_of(bool on) {
  PlaceOptions defaults;
  std::vector<std::string> names;
  for_switches(defaults, [&](const char* name, bool value) {
    if (value == on) names.emplace_back(name);
  });
  return names;
}

void set(const std::vector<std::string>& names, bool on, PlaceOptions& options) {
  for_switches(options, [&](const char* name, bool& value) {
    if (std::find(names.begin(), names.end(), name) != names.end()) value = on;
  });
}

/// What the options are read into before it is an answer.
struct Raw {
  PlaceArguments arguments;
  std::uint64_t capacity = 0;
  std::vector<std::string> with, without;
};

/// A validator: what is wrong with the text of an amount; empty if nothing. Conversion would wrap it round.
std::string no_sign(std::string& text) {
  return text.empty() || text.front() == '-' ? text + " is not an amount" : std::string();
}

void add_files(CLI::App& app, PlaceArguments& arguments) {
  app.add_option("problem", arguments.problem,
                 "CSV with the columns id,lower,upper,size, or a recorded .stowtrace; see docs/placement.md")
      ->required();
  app.add_option(
      "-o,--output", arguments.output,
      "where the offsets go, as the problem's columns and one more; - is standard output, none is nowhere; "
      "default: the problem's name with .placed.csv, in this folder");
  app.add_flag(
      "--inclusive", arguments.inclusive,
      "upper is the last tick alive, as in idealloc's in-csv and IREE; a column named end always is");
  app.add_flag("--progress", arguments.progress, "say each better height on standard error");
  app.add_flag("--json", arguments.json, "print the result as JSON");
}

void add_limits(CLI::App& app, Raw& raw) {
  PlaceOptions& options = raw.arguments.options;
  app.add_option("-c,--capacity", raw.capacity,
                 "bytes that must do, such as 1048576 or 80GiB; default: the least")
      ->check(CLI::Validator(no_sign, ""))
      ->transform(CLI::AsSizeValue(false));
  app.add_option("-t,--time-limit", options.time_limit_s, "seconds")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--work-limit", options.work_limit,
                 "steps, about 1 ns each: the result is then the same on every machine")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "another seed is another search")
      ->check(CLI::Validator(no_sign, ""))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads at once; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void add_techniques(CLI::App& app, Raw& raw) {
  app.add_option("--without", raw.without, "techniques not to use")
      ->check(CLI::IsMember(names_of(true)))
      ->delimiter(',');
  app.add_option("--with", raw.with, "techniques to use that are not used by default")
      ->check(CLI::IsMember(names_of(false)))
      ->delimiter(',');
  app.footer(
      "Exit status: 0 placed; 1 an error; 3 nothing fits the capacity, which is proved; 4 nothing that fits "
      "was found in time.");
}

}  // namespace

Result<std::optional<PlaceArguments>> parse_place_arguments(int argc, char** argv) {
  CLI::App app{"Places buffers with known lifetimes in as little memory as possible, or in a given capacity.",
               "stowage place"};
  Raw raw;
  PlaceOptions& options = raw.arguments.options;
  options.time_limit_s = 10;
  options.work_limit = std::numeric_limits<std::int64_t>::max();
  add_files(app, raw.arguments);
  add_limits(app, raw);
  add_techniques(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    app.exit(asked_for_help);
    return std::optional<PlaceArguments>();
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::kInvalidArgument, std::string(error.what()) + "; see stowage place --help"};
  }
  if (raw.capacity > planner::placement::kMaxTotalBytes)
    return Error{ErrorCode::kInvalidArgument, "--capacity is more than 2^62 bytes; give a smaller one"};
  set(raw.without, false, options);
  set(raw.with, true, options);
  if (app.count("--capacity") != 0) raw.arguments.capacity = Bytes(raw.capacity);
  return std::optional(std::move(raw.arguments));
}

}  // namespace stowage::replay
