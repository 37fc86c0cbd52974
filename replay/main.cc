// stowage-replay: plans a recorded trace, follows the plan, and compares it with PyTorch's own allocator.
// Needs no GPU. With `cache`, `place` or `timeline` as its first word it is that command of `stowage`
// (cache_command.h, place_command.h, timeline_command.h). Exit status: 0 done; 1 an error, told in one line
// on standard error, as all of `stowage` does.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "planner/planner.h"
#include "replay/cache/cache_command.h"
#include "replay/place/place_command.h"
#include "replay/replay_report.h"
#include "replay/replayer.h"
#include "replay/timeline/timeline_command.h"

namespace {

namespace planner = stowage::planner;
namespace replay = stowage::replay;
using stowage::Error;
using stowage::Status;

struct Arguments {
  std::string trace;
  std::string plan_out;
  bool json = false;
  std::uint32_t iterations = 3;
  double time_limit_s = 2.0;
};

int fail(const Error& error) {
  std::fprintf(stderr, "stowage replay: error: %s\n", error.message.c_str());
  return 1;
}

int run(const Arguments& arguments) {
  auto trace = stowage::load_trace(arguments.trace);
  if (!trace) return fail(trace.error());
  planner::PlanOptions options;
  options.time_limit_s = arguments.time_limit_s;
  auto plan = planner::make_plan(*trace, options);
  if (!plan) return fail(plan.error());
  auto planned = replay::replay_planned(*trace, *plan, arguments.iterations);
  if (!planned) return fail(planned.error());
  if (!arguments.plan_out.empty()) {
    if (Status saved = stowage::save_plan(*plan, arguments.plan_out); !saved) return fail(saved.error());
  }
  const replay::ReplayReport report = replay::make_report(*trace, *plan, *planned);
  const std::string text = arguments.json ? replay::to_json(report).dump(2) : replay::to_table(report);
  std::printf("%s\n", text.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "cache") return replay::cache_command(argc - 1, argv + 1);
  if (command == "place") return replay::place_command(argc - 1, argv + 1);
  if (command == "timeline") return replay::timeline_command(argc - 1, argv + 1);
  CLI::App app{"Plans a recorded trace and replays it against PyTorch's own allocator; no GPU is needed."};
  Arguments arguments;
  app.add_option("trace", arguments.trace, "a .stowtrace file")->required();
  app.add_option("--plan-out", arguments.plan_out, "write the plan to this .stowplan file");
  app.add_option("--iterations", arguments.iterations, "how often the steady iteration is played")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--time-limit", arguments.time_limit_s, "seconds of planning")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "print the report as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return fail(
        {stowage::ErrorCode::kInvalidArgument, std::string(error.what()) + "; see stowage replay --help"});
  }
  return run(arguments);
}
