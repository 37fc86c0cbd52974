#include "replay/cache/cache_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/format/kept_plans_file.h"
#include "core/format/kept_schedule_file.h"

namespace stowage::replay {
namespace {

using format::PrivateFolder;

constexpr double kDaySeconds = 86'400;

double seconds_since(std::int64_t then_ns, std::int64_t now_ns) {
  return std::max(0.0, static_cast<double>(now_ns - then_ns) / 1e9);
}

std::string age_of(double seconds) {
  char text[32];
  if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  } else if (seconds < 2 * kDaySeconds) {
    std::snprintf(text, sizeof text, "%.0f h", seconds / 3600);
  } else {
    std::snprintf(text, sizeof text, "%.0f days", seconds / kDaySeconds);
  }
  return text;
}

std::uint64_t bytes_of(const std::vector<CacheRow>& rows) {
  std::uint64_t bytes = 0;
  for (const CacheRow& row : rows) bytes += row.file.bytes;
  return bytes;
}

/// What `decode` makes of the file, in `into`; why it cannot be read, else.
template <class Kept>
std::string read_into(std::optional<Kept>& into, const PrivateFolder& folder, const std::string& name,
                      format::Kind kind, Result<Kept> (*decode)(std::span<const std::byte>)) {
  Result<Kept> kept = folder.read_as(name, kind, decode);
  if (!kept.ok()) return kept.error().message;
  into = std::move(*kept);
  return {};
}

CacheRow read_row(const PrivateFolder& folder, PrivateFolder::File file) {
  CacheRow row{std::move(file), {}, {}, {}};
  const std::string& name = row.file.name;
  row.problem = is_kept_schedule_name(name)
                    ? read_into(row.schedule, folder, name, format::Kind::kKeptSchedule, decode_kept_schedule)
                    : read_into(row.kept, folder, name, format::Kind::kKeptPlans, decode_kept_plans);
  return row;
}

std::size_t evictions_of(const KeptSchedule& schedule) {
  return static_cast<std::size_t>(
      std::count_if(schedule.actions.begin(), schedule.actions.end(),
                    [](const Action& action) { return action.kind == ActionKind::kEvict; }));
}

std::string number_of(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Names and command lines come from files: what would move the cursor or break the line is shown as "?".
std::string printable(std::string text, std::size_t most) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  if (text.size() <= most) return text;
  return "..." + text.substr(text.size() - most + 3);
}

std::string hexadecimal(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

using Cells = std::array<std::string, 8>;

Cells cells_of(const CacheRow& row, std::int64_t now_ns) {
  const std::string size = amount_of(row.file.bytes);
  const std::string used = age_of(seconds_since(row.file.used_ns, now_ns));
  if (!row.problem.empty()) return {row.file.name, "cannot be read", "", "", "", "", size, used};
  const PlanContext& context = row.kept ? row.kept->context : row.schedule->context;
  const std::string entries = row.kept ? std::to_string(row.kept->plans.front().entries.size())
                                       : number_of(evictions_of(*row.schedule), "eviction");
  const std::string height = row.kept ? amount_of(row.kept->plans.front().height.value()) : "";
  const std::uint64_t number =
      row.kept ? row.kept->plans.front().fingerprint : hash_of_ops(row.schedule->shape_hashes);
  const std::string named = row.kept ? row.kept->job : row.schedule->job;
  const std::string job = named.empty() ? hexadecimal(number) : named;
  return {printable(job, 48),
          printable(context.device_name.empty() ? to_string(context.device) : context.device_name, 32),
          printable(context.torch_version, 24),
          printable(context.budget, 16),
          entries,
          height,
          size,
          used};
}

nlohmann::json json_of(const CacheRow& row, std::int64_t now_ns) {
  nlohmann::json json = {{"file", row.file.name},
                         {"bytes", row.file.bytes},
                         {"seconds_since_use", seconds_since(row.file.used_ns, now_ns)}};
  if (!row.problem.empty()) {
    json["problem"] = row.problem;
    return json;
  }
  const PlanContext& context = row.kept ? row.kept->context : row.schedule->context;
  json["job"] = row.kept ? row.kept->job : row.schedule->job;
  json["device"] = to_string(context.device);
  json["device_name"] = context.device_name;
  json["device_memory_bytes"] = context.device_memory.value();
  json["torch"] = context.torch_version;
  json["budget"] = context.budget;
  json["world_size"] = context.world_size;
  json["backend"] = context.backend;
  if (row.schedule) {
    json["schedule"] = {{"ops", row.schedule->shape_hashes.size()},
                        {"evictions", evictions_of(*row.schedule)},
                        {"marks", row.schedule->marks}};
    return json;
  }
  json["opening"] = row.kept->opening;
  for (const Plan& plan : row.kept->plans)
    json["plans"].push_back({{"fingerprint", hexadecimal(plan.fingerprint)},
                             {"entries", plan.entries.size()},
                             {"height_bytes", plan.height.value()},
                             {"lower_bound_bytes", plan.lower_bound.value()}});
  return json;
}

}  // namespace

std::vector<CacheRow> list_cache(const PrivateFolder& folder) {
  std::vector<CacheRow> rows;
  for (PrivateFolder::File& file : folder.files()) {
    if (!is_kept_name(file.name)) continue;
    const std::string name = file.name;
    CacheRow row = read_row(folder, std::move(file));
    if (row.problem.empty() || folder.has(name)) rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const CacheRow& a, const CacheRow& b) {
    return std::tie(b.file.used_ns, a.file.name) < std::tie(a.file.used_ns, b.file.name);
  });
  return rows;
}

std::string to_table(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns) {
  std::vector<PrivateFolder::File> files;
  files.reserve(rows.size());
  for (const CacheRow& row : rows) files.push_back(row.file);
  std::string text = path + ": " + counted(files) + ", " + amount_of(bytes_of(rows)) + "\n";
  if (rows.empty()) return text;
  std::vector<Cells> lines = {{"job", "device", "torch", "budget", "entries", "height", "size", "last used"}};
  for (const CacheRow& row : rows) lines.push_back(cells_of(row, now_ns));
  std::array<std::size_t, std::tuple_size_v<Cells>> widths = {};
  for (const Cells& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const Cells& line : lines) {
    std::string shown;
    for (std::size_t i = 0; i < line.size(); ++i)
      shown += "  " + line[i] + std::string(widths[i] - line[i].size(), ' ');
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

nlohmann::json to_json(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns) {
  nlohmann::json json = {{"folder", path}, {"bytes", bytes_of(rows)}, {"files", nlohmann::json::array()}};
  for (const CacheRow& row : rows) json["files"].push_back(json_of(row, now_ns));
  return json;
}

std::vector<PrivateFolder::File> clear_cache(const PrivateFolder& folder, double days, std::int64_t now_ns) {
  folder.remove_stale();
  std::vector<PrivateFolder::File> removed;
  for (PrivateFolder::File& file : folder.files()) {
    if (!is_kept_name(file.name)) continue;
    if (days > 0 && seconds_since(file.used_ns, now_ns) < days * kDaySeconds) continue;
    if (folder.remove(file.name)) removed.push_back(std::move(file));
  }
  return removed;
}

std::string counted(const std::vector<PrivateFolder::File>& files) {
  const auto schedules = static_cast<std::size_t>(std::count_if(
      files.begin(), files.end(), [](const auto& file) { return is_kept_schedule_name(file.name); }));
  const std::string plans = number_of(files.size() - schedules, "plan");
  return schedules == 0 ? plans : plans + ", " + number_of(schedules, "schedule");
}

std::string amount_of(std::uint64_t bytes) {
  char text[32];
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) {
    std::snprintf(text, sizeof text, "%.1f KiB", kib);
  } else {
    std::snprintf(text, sizeof text, "%.1f MiB", kib / 1024);
  }
  return text;
}

}  // namespace stowage::replay
