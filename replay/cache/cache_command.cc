#include "replay/cache/cache_command.h"

#include <time.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/cache_place.h"
#include "replay/cache/cache_list.h"

namespace stowage::replay {
namespace {

using format::PrivateFolder;

struct Arguments {
  std::string action = "list";
  std::optional<double> older_than_days;
  bool json = false;
};

int fail(const std::string& message) {
  std::fprintf(stderr, "stowage cache: error: %s\n", message.c_str());
  return 1;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

int list(const std::string& path, const PrivateFolder* folder, bool json) {
  const std::vector<CacheRow> rows = folder == nullptr ? std::vector<CacheRow>() : list_cache(*folder);
  const auto invalid = nlohmann::json::error_handler_t::replace;
  const std::string text = json ? to_json(path, rows, now_ns()).dump(2, ' ', false, invalid) + "\n"
                                : to_table(path, rows, now_ns());
  std::printf("%s", text.c_str());
  return 0;
}

int clear(const std::string& path, const PrivateFolder* folder, double days) {
  std::vector<PrivateFolder::File> removed;
  if (folder != nullptr) removed = clear_cache(*folder, days, now_ns());
  std::uint64_t bytes = 0;
  for (const PrivateFolder::File& file : removed) bytes += file.bytes;
  std::printf("%s: removed %s, %s\n", path.c_str(), counted(removed).c_str(), amount_of(bytes).c_str());
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.older_than_days && arguments.action != "clear")
    return fail("--older-than belongs to `stowage cache clear`");
  if (arguments.json && arguments.action != "list") return fail("--json belongs to `stowage cache list`");
  const std::string path = plan_folder(variable("STOWAGE_PLAN_CACHE"),
                                       users_plan_folder(variable("XDG_CACHE_HOME"), variable("HOME")));
  if (path.empty())
    return fail("no plans are kept: STOWAGE_PLAN_CACHE is off, or neither HOME nor XDG_CACHE_HOME is set");
  if (arguments.action == "path") {
    std::printf("%s\n", path.c_str());
    return 0;
  }
  const Result<PrivateFolder> folder = PrivateFolder::open(path);
  if (!folder.ok() && folder.error().code != ErrorCode::kNotFound) return fail(folder.error().message);
  const PrivateFolder* const found = folder.ok() ? &*folder : nullptr;
  if (arguments.action == "list") return list(path, found, arguments.json);
  return clear(path, found, arguments.older_than_days.value_or(0));
}

}  // namespace

int cache_command(int argc, char** argv) {
  CLI::App app{"Lists and removes the plans and schedules that are kept between runs (STOWAGE_PLAN_CACHE).",
               "stowage cache"};
  Arguments arguments;
  app.add_option("action", arguments.action, "list: what is kept; clear: remove it; path: print the folder")
      ->check(CLI::IsMember({"list", "clear", "path"}))
      ->capture_default_str();
  app.add_option("--older-than", arguments.older_than_days,
                 "clear: remove only those that were not used for so many days")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", arguments.json, "list: as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + "; see stowage cache --help");
  }
  return run(arguments);
}

}  // namespace stowage::replay
