#include "library/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "session/registry.h"
#include "session/session.h"
#include "session/settings/process_name.h"

namespace stowage::plugin {
namespace {

using Json = nlohmann::ordered_json;

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
}

std::string bytes_of(const Json& json, const char* key) { return bytes_text(json.value(key, 0.0)); }

std::string row(const char* name, const std::string& value) {
  return format("  %-15s %s\n", name, value.c_str());
}

std::string plan_rows(const Json& device) {
  std::string text;
  for (const Json& plan : device.value("plans", Json::array())) {
    const double height = plan.value("height_bytes", 0.0);
    const double bound = plan.value("lower_bound_bytes", 0.0);
    text +=
        row("plan",
            format("%llu allocations, height %s, %.3f of the lower bound%s, %s, made in %.0f ms",
                   plan.value("entries", 0ull), bytes_text(height).c_str(), bound > 0 ? height / bound : 1.0,
                   plan.value("proved_optimal", false) ? " (optimal)" : "",
                   plan.value("technique", std::string("?")).c_str(), plan.value("planning_ms", 0.0)));
  }
  return text;
}

std::string miss_row(const Json& device) {
  const Json misses = device.value("misses", Json::object());
  return row(
      "served",
      format("%llu planned, %llu upstream by plan; missed: %llu unexpected, %llu slot in use, %llu beyond",
             device.value("hits", 0ull), device.value("planned_upstream", 0ull),
             misses.value("unexpected", 0ull), misses.value("slot_in_use", 0ull),
             misses.value("beyond_plan", 0ull)));
}

std::string memory_rows(const Json& device, bool planned) {
  std::string text = row("peak live", bytes_of(device, "peak_live_bytes"));
  std::string reserved = bytes_of(device, "reserved_before_bytes");
  std::string lost = format("%.1f %%", 100 * device.value("fragmentation_before", 0.0));
  if (planned) {
    reserved += " before, " + bytes_of(device, "reserved_after_bytes") + " now";
  }
  const Json budget = device.value("budget", Json::object());
  const std::uint64_t limit = budget.value("limit_bytes", 0ull);
  if (limit != 0 && device.value("reserved_before_bytes", 0ull) > limit)
    reserved += " (before: also while there was no limit yet)";
  if (planned) {
    lost += format(" before, %.1f %% now", 100 * device.value("fragmentation_after", 0.0));
  }
  text += row("reserved", reserved) + row("fragmentation", lost);
  if (planned)
    text += row("arena", bytes_of(device, "arena_bytes") + ", upstream still serves " +
                             bytes_of(device, "upstream_allocated_bytes"));
  return text;
}

// By the times that the schedule was made with.
std::string overhead_row(const Json& schedule) {
  const double ops = schedule.value("ops_ms", 0.0);
  if (ops <= 0) return {};
  const auto share = [&](const char* key) { return 100 * schedule.value(key, 0.0) / ops; };
  return row("overhead",
             format("%.1f %% of the ops' time is predicted; any schedule takes at least %.1f %%",
                    share("recompute_ms") + share("encode_ms") + share("copy_ms"), share("least_ms")));
}

std::string schedule_row(const Json& schedule) {
  const std::string reason = schedule.value("reason", std::string());
  if (!reason.empty()) return row("schedule", "none: " + reason);
  if (schedule.value("since_iteration", 0ull) == 0) return {};
  return overhead_row(schedule) +
         row("schedule",
             format("%s since iteration %llu: %llu evictions, %llu ops recomputed in each; %llu iterations "
                    "followed, %llu differed, rescue made room %llu times",
                    schedule.value("followed", false) ? "followed" : "left, was followed",
                    schedule.value("since_iteration", 0ull), schedule.value("evictions", 0ull),
                    schedule.value("recomputed_ops", 0ull), schedule.value("iterations", 0ull),
                    schedule.value("left", 0ull), schedule.value("rooms", 0ull)));
}

std::string offload_row(const Json& budget) {
  if (budget.value("offloads", 0ull) == 0) return {};
  return row("offloaded",
             format("%llu tensors, %s, of which %s were copied; %llu came back; %.0f ms in copies; %s are "
                    "offloaded now",
                    budget.value("offloads", 0ull), bytes_of(budget, "offloaded_bytes").c_str(),
                    bytes_of(budget, "copied_bytes").c_str(), budget.value("fetches", 0ull),
                    budget.value("copy_ms", 0.0), bytes_of(budget, "offloaded_now_bytes").c_str()));
}

std::string setting_of(const Json& budget) {
  const std::string setting = budget.value("setting", std::string());
  if (budget.value("joins", 0ull) == 0) return setting;
  return setting + ", since iteration " + std::to_string(budget.value("joined_at_iteration", 0ull) + 1);
}

std::string budget_rows(const Json& device) {
  const Json budget = device.value("budget", Json::object());
  if (budget.empty()) return {};
  if (budget.value("joins", 0ull) > 0 && !budget.value("watching", false) &&
      budget.value("evictions", 0ull) == 0)
    return row("budget", "auto: the job nearly fills the device, and fits");
  std::string limit = bytes_of(budget, "limit_bytes");
  if (budget.value("limit_bytes", 0ull) == 0) limit = "not known yet";
  if (budget.value("excess_bytes", 0ull) != 0) limit = bytes_of(budget, "excess_bytes") + " above it yet";
  const double ops = budget.value("ops_ms", 0.0);
  const double again = budget.value("recompute_ms", 0.0);
  return row("budget", format("%s (%s), held at most %s%s", limit.c_str(), setting_of(budget).c_str(),
                              bytes_of(budget, "peak_held_bytes").c_str(),
                              budget.value("refusals", 0ull) > 0 ? ", not enough" : "")) +
         row("evicted",
             format("%llu tensors, %s; %llu ops recomputed in %.0f ms (%.1f %% of the job's %.0f ms)",
                    budget.value("evictions", 0ull), bytes_of(budget, "evicted_bytes").c_str(),
                    budget.value("recomputed_ops", 0ull), again, ops > 0 ? 100 * again / ops : 0.0, ops)) +
         offload_row(budget) + schedule_row(budget.value("schedule", Json::object()));
}

std::string device_text(const Json& device) {
  const std::string reason = device.value("reason", std::string());
  const std::string state = device.value("state", std::string("?"));
  std::string text =
      format("stowage on %s:%llu %s\n", device.value("device", std::string("?")).c_str(),
             device.value("device_index", 0ull), device.value("device_name", std::string()).c_str());
  text += row("state", state + (reason.empty() ? "" : " (" + reason + ")"));
  const bool from_start = device.value("planned_from_start", false);
  const bool planned = from_start || device.value("switched_at_iteration", 0ull) != 0;
  std::string iterations = format("%llu", device.value("iterations", 0ull));
  if (planned)
    iterations += (from_start ? std::string(", planned from the first allocation on")
                              : format(", planned after %llu", device.value("switched_at_iteration", 0ull))) +
                  format(", %llu of %llu planned without a miss", device.value("clean_iterations", 0ull),
                         device.value("planned_iterations", 0ull));
  text += row("iterations", iterations) + memory_rows(device, planned);
  if (planned) text += plan_rows(device) + miss_row(device);
  return text + budget_rows(device);
}

Error foreign(const std::string& why) {
  return {ErrorCode::kForeignFile, "this JSON is not a report of Stowage: " + why};
}

}  // namespace

std::string process_report_json() {
  Json devices = Json::array();
  for (const session::Session* session : session::present_sessions())
    devices.push_back(Json::parse(session->report_json()));
  Json report = Json::object();
  for (const Json& device : devices)
    if (report.empty() || (report.value("arena_bytes", 0ull) == 0 && device.value("arena_bytes", 0ull) != 0))
      report = device;
  if (report.empty()) report["state"] = "none";
  report["process"] = {{"id", getpid()}, {"name", session::process_name()}};
  report["devices"] = devices;
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

bool tells_nothing(const std::string& json) {
  constexpr std::uint64_t kPage = 4096;  // importing torch makes a number or two
  const Json report = Json::parse(json);
  const Json& devices = report.at("devices");
  return std::all_of(devices.begin(), devices.end(), [](const Json& device) {
    return device.value("iterations", 0ull) == 0 && device.value("peak_live_bytes", 0ull) < kPage;
  });
}

Result<std::string> report_text(const std::string& json) try {
  const Json report = Json::parse(json);
  const Json& devices = report.at("devices");
  if (!devices.is_array()) return foreign("its \"devices\" is not a list");
  if (devices.empty()) {
    if (report.value("state", std::string()) != "none") return foreign("it has no devices");
    return std::string("stowage: no device has been used yet\n");
  }
  std::string text;
  for (const Json& device : devices) {
    if (!device.is_object() || !device.contains("device") || !device.contains("state"))
      return foreign("one of its devices has no name or no state");
    text += device_text(device);
  }
  return text;
} catch (const Json::exception& error) {
  return foreign(error.what());
}

}  // namespace stowage::plugin
