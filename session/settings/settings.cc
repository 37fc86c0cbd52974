#include "session/settings/settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "session/settings/entries.h"
#include "session/settings/environment.h"
#include "session/settings/process_name.h"

namespace stowage::session {
namespace {

// "recipe:OP" names an op; the others are words.
Entry fault() {
  constexpr std::string_view kRecipe = "recipe:";
  Entry entry = choice("STOWAGE_FAULT", &Settings::fault, {"none", "planner", "thread", "arena"},
                       "for tests: what is made to fail");
  const auto read = entry.read;
  const auto print = entry.print;
  entry.bounds += " | recipe:OP";
  entry.read = [=](Settings& settings, const std::string& text) {
    const bool recipe = text.size() > kRecipe.size() && text.compare(0, kRecipe.size(), kRecipe) == 0;
    if (!recipe && !read(settings, text)) return false;
    if (recipe) settings.fault = Fault::kRecipe;
    settings.wrong_recipe = recipe ? text.substr(kRecipe.size()) : "";
    return true;
  };
  entry.print = [=](const Settings& settings) {
    if (settings.fault == Fault::kRecipe) return std::string(kRecipe) + settings.wrong_recipe;
    return print(settings);
  };
  return entry;
}

// Empty, as an environment may have it, is the user's folder.
Entry plan_cache() {
  Entry entry =
      text("STOWAGE_PLAN_CACHE", &Settings::plan_cache, "a folder, or off", "keep plans here between runs");
  entry.read = [](Settings& settings, const std::string& value) {
    settings.plan_cache = plan_folder(value, settings.users_plan_cache);
    return true;
  };
  entry.print = [](const Settings& settings) {
    return settings.plan_cache.empty() ? "off" : settings.plan_cache;
  };
  return entry;
}

// The table. Everything that lists, reads or explains settings goes through it.
const std::vector<Entry>& table() {
  static const auto* entries = new std::vector<Entry>{
      flag("STOWAGE", &Settings::enable, "use Stowage in this process"),
      choice("STOWAGE_DEVICES", &Settings::devices, {"auto", "cuda", "cpu", "both"},
             "allocators to plan; auto: CUDA's where a CUDA driver is found, else the CPU's"),
      parsed("STOWAGE_BUDGET", &Settings::budget,
             "the most bytes of a device that the job may hold; the CPU has none by itself"),
      text("STOWAGE_SPILL", &Settings::spill, "a folder on a disk",
           "under a budget: CPU tensors that cannot be recomputed cheaply go to a file here"),
      parsed("STOWAGE_HOST_MEMORY", &Settings::host_memory,
             "under a budget: the most pinned host memory for what is offloaded from CUDA devices"),
      flag("STOWAGE_SPLIT_OPS", &Settings::split_ops,
           "under a budget: run ops on lists, and backward passes of convolutions, in parts"),
      flag("STOWAGE_REUSE_GRADIENTS", &Settings::reuse_gradients,
           "under a budget: backward passes of elementwise ops write over gradients that nobody else has"),
      flag("STOWAGE_ENCODE", &Settings::encode,
           "under a budget: keep masks and indices in fewer bytes, or not at all where results serve"),
      flag("STOWAGE_RECORD_OPS", &Settings::record_ops, "record ATen ops too, not only allocations"),
      choice("STOWAGE_CUPTI", &Settings::cupti, {"auto", "0", "1"},
             "time a GPU's ops by CUPTI; auto: under a budget, and for STOWAGE_TRACE; else by CUDA events"),
      count("STOWAGE_RECORD_EVENTS", &Settings::record_events, 1'000, 100'000'000,
            "the most recorded events to keep"),
      count("STOWAGE_RECORD_ITERATIONS", &Settings::record_iterations, 2, 1'000'000,
            "iterations without a steady state after which the job is served without a plan"),
      real("STOWAGE_PLAN_SECONDS", &Settings::plan_seconds, 0.01, 3600,
           "time limit of the planner, in seconds"),
      count("STOWAGE_PLAN_WORK", &Settings::plan_work, 1'000, 1'000'000'000'000,
            "work limit of the planner, in placed buffers looked at, about 1 ns each"),
      count("STOWAGE_PLAN_WAIT_MS", &Settings::plan_wait_ms, 0, 600'000,
            "milliseconds to wait for a plan at the end of the iteration that requests it"),
      flag("STOWAGE_SHARE_PLANS", &Settings::share_plans,
           "ranks of a job that do the same make their plans once for all of them"),
      count("STOWAGE_MAX_PLANS", &Settings::max_plans, 1, 64, "kinds of iteration planned side by side"),
      real("STOWAGE_MISS_TOLERANCE", &Settings::miss_tolerance, 0, 1,
           "share of requests off the plan above which an iteration has diverged"),
      count("STOWAGE_DIVERGED_ITERATIONS", &Settings::diverged_iterations, 1, 1'000'000,
            "diverged iterations in a row after which recording begins again"),
      count("STOWAGE_MAX_REPLANS", &Settings::max_replans, 0, 1'000,
            "times recording may begin again before the job is served without a plan"),
      flag("STOWAGE_ONLINE", &Settings::online,
           "serve a job that no plan can follow from the arena, wherever requests fit best"),
      choice("STOWAGE_ARENA", &Settings::arena, {"vmm", "malloc"},
             "memory of a CUDA arena: CUDA virtual memory, or one cudaMalloc (for IPC and RDMA)"),
      text("STOWAGE_REPORT", &Settings::report, "text (or 1), or a path",
           "at exit: a table on stderr, or JSON in a file"),
      text("STOWAGE_TRACE", &Settings::trace, "a path", "at exit: write the recorded trace to this file"),
      plan_cache(),
      count("STOWAGE_PLAN_CACHE_BYTES", &Settings::plan_cache_bytes, 1 << 20, std::uint64_t{1} << 40,
            "the most bytes of kept plans; those that were not used for longest are removed"),
      text("STOWAGE_JOB", &Settings::job, "any text", "name of the job in traces, for people"),
      text("STOWAGE_LIBRARY", &Settings::library, "a path",
           "libstowage.so, for the preload shim; else beside it"),
      count("STOWAGE_VERBOSE", &Settings::verbose, 0, 2,
            "0 warnings, 1 state changes too, 2 every iteration"),
      flag("STOWAGE_VERIFY", &Settings::verify,
           "for debugging: replay each op's recipe at once, compare the bits, and say which differs"),
      parsed("STOWAGE_EVICT", &Settings::evict,
             "for debugging: evictions that nobody needs; docs/debugging.md"),
      fault(),
  };
  return *entries;
}

Error unknown(const std::string& key) {
  std::vector<std::string> known;
  for (const Entry& entry : table()) known.push_back(entry.key);
  const std::string nearest = nearest_name(key, known);
  return {ErrorCode::kInvalidArgument,
          "there is no setting " + key +
              (nearest.empty() ? "; `stowage settings` lists them all with their bounds"
                               : "; did you mean " + nearest + "?")};
}

Status apply(Settings& settings, const Entry& entry, const std::string& value) {
  if (entry.read(settings, value)) return {};
  return Error{ErrorCode::kInvalidArgument, entry.variable + " is \"" + value + "\", but it takes " +
                                                entry.bounds + " (" + entry.help + ")"};
}

const Entry* find(const std::string& name, std::string Entry::*by) {
  const auto& entries = table();
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.*by == name; });
  return at == entries.end() ? nullptr : &*at;
}

Status apply_lines(Settings& settings, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t stop = lines.find('\n');
    const std::string line(lines.substr(0, stop));
    lines = stop == std::string_view::npos ? std::string_view() : lines.substr(stop + 1);
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos)
      return Error{ErrorCode::kInvalidArgument, "\"" + line + "\" is not of the form key=value"};
    const Entry* entry = find(line.substr(0, equals), &Entry::key);
    if (entry == nullptr) return unknown(line.substr(0, equals));
    if (Status status = apply(settings, *entry, line.substr(equals + 1)); !status) return status;
  }
  return {};
}

}  // namespace

Result<Settings> parse_settings(const std::vector<std::pair<std::string, std::string>>& environment,
                                std::string_view overrides) {
  Settings settings;
  settings.users_plan_cache =
      users_plan_folder(value_of(environment, "XDG_CACHE_HOME"), value_of(environment, "HOME"));
  settings.plan_cache = settings.users_plan_cache;
  settings.world_size = world_size(environment);
  settings.rank = rank_name(environment);
  for (const auto& [name, value] : environment) {
    if (name == "STOWAGE" && value.empty()) continue;  // `STOWAGE= python …` is the shell's way to say unset
    const Entry* entry = find(name, &Entry::variable);
    if (entry == nullptr) continue;
    if (Status status = apply(settings, *entry, value); !status) return status.error();
  }
  if (Status status = apply_lines(settings, overrides); !status) return status.error();
  return settings;
}

Result<Settings> read_settings(std::string_view overrides) {
  Result<Settings> settings = parse_settings(process_environment(), overrides);
  if (settings.ok()) settings->command = process_command();
  return settings;
}

std::vector<SettingRow> list_settings(const Settings& settings) {
  Settings standard;
  standard.plan_cache = settings.users_plan_cache;
  std::vector<SettingRow> rows;
  for (const Entry& entry : table())
    rows.push_back(
        {entry.variable, entry.key, entry.print(settings), entry.print(standard), entry.bounds, entry.help});
  return rows;
}

std::string settings_json(const Settings& settings) {
  auto rows = nlohmann::json::array();
  for (const SettingRow& row : list_settings(settings)) {
    rows.push_back({{"variable", row.variable},
                    {"key", row.key},
                    {"value", row.value},
                    {"default", row.standard},
                    {"bounds", row.bounds},
                    {"help", row.help}});
  }
  return rows.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Budget Settings::budget_of(DeviceKind device) const {
  const bool chosen = !budget.text().empty();
  return chosen || device != DeviceKind::kCuda ? budget : Budget::automatic();
}

}  // namespace stowage::session
