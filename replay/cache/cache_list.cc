#include "replay/cache/cache_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/format/kept_plans_file.h"

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

CacheRow read_row(const PrivateFolder& folder, PrivateFolder::File file) {
  const auto bytes = folder.read(file.name, format::Kind::kKeptPlans);
  if (!bytes.ok()) return {std::move(file), std::nullopt, bytes.error().message};
  Result<KeptPlans> kept = decode_kept_plans(*bytes);
  if (!kept.ok()) return {std::move(file), std::nullopt, kept.error().message};
  return {std::move(file), std::move(*kept), ""};
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
  if (!row.kept) return {row.file.name, "cannot be read", "", "", "", "", size, used};
  const PlanContext& context = row.kept->context;
  const Plan& plan = row.kept->plans.front();
  const std::string job = row.kept->job.empty() ? hexadecimal(plan.fingerprint) : row.kept->job;
  return {printable(job, 48),
          printable(context.device_name.empty() ? to_string(context.device) : context.device_name, 32),
          printable(context.torch_version, 24),
          printable(context.budget, 16),
          std::to_string(plan.entries.size()),
          amount_of(plan.height.value()),
          size,
          used};
}

nlohmann::json json_of(const CacheRow& row, std::int64_t now_ns) {
  nlohmann::json json = {{"file", row.file.name},
                         {"bytes", row.file.bytes},
                         {"seconds_since_use", seconds_since(row.file.used_ns, now_ns)}};
  if (!row.kept) {
    json["problem"] = row.problem;
    return json;
  }
  const PlanContext& context = row.kept->context;
  json["job"] = row.kept->job;
  json["device"] = to_string(context.device);
  json["device_name"] = context.device_name;
  json["device_memory_bytes"] = context.device_memory.value();
  json["torch"] = context.torch_version;
  json["budget"] = context.budget;
  json["world_size"] = context.world_size;
  json["backend"] = context.backend;
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
    if (!is_kept_plans_name(file.name)) continue;
    const std::string name = file.name;
    CacheRow row = read_row(folder, std::move(file));
    if (row.kept || folder.has(name)) rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const CacheRow& a, const CacheRow& b) {
    return std::tie(b.file.used_ns, a.file.name) < std::tie(a.file.used_ns, b.file.name);
  });
  return rows;
}

std::string to_table(const std::string& path, const std::vector<CacheRow>& rows, std::int64_t now_ns) {
  std::string text = path + ": " + std::to_string(rows.size()) + (rows.size() == 1 ? " plan, " : " plans, ") +
                     amount_of(bytes_of(rows)) + "\n";
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
    if (!is_kept_plans_name(file.name)) continue;
    if (days > 0 && seconds_since(file.used_ns, now_ns) < days * kDaySeconds) continue;
    if (folder.remove(file.name)) removed.push_back(std::move(file));
  }
  return removed;
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
