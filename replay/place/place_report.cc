#include "replay/place/place_report.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "planner/placement/solve.h"

namespace stowage::replay {
namespace {

using planner::placement::Solution;

/// Digits in threes, and the amount in the largest unit that it fills: "1,048,576 bytes (1.00 MiB)".
std::string bytes_text(Bytes bytes) {
  const std::string digits = std::to_string(bytes.value());
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes.value());
  if (amount < 1024) return text + " bytes";
  std::size_t unit = 0;
  for (amount /= 1024; amount >= 1024 && unit + 1 < kUnits.size(); amount /= 1024) ++unit;
  std::array<char, 32> rounded{};
  std::snprintf(rounded.data(), rounded.size(), " bytes (%.2f ", amount);
  return text + rounded.data() + kUnits[unit] + ")";
}

/// What the height is above the bound, as a share of the bound.
double gap_of(const Solution& solution) {
  if (solution.lower_bound.value() == 0) return 0;
  return static_cast<double>((solution.height - solution.lower_bound).value()) /
         static_cast<double>(solution.lower_bound.value());
}

std::string quality(const Solution& solution) {
  if (solution.proved_optimal) return "no placement is lower, which is proved";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.4f %% above the bound", 100 * gap_of(solution));
  return text.data();
}

std::string verdict(const PlaceReport& report) {
  const std::string count = std::to_string(report.table.ids.size()) + " buffers";
  std::array<char, 48> seconds{};
  std::snprintf(seconds.data(), seconds.size(), " in %.3f s", report.seconds);
  if (fits(report.table.problem, report.solution)) return "placed " + count + seconds.data();
  const std::string capacity = bytes_text(*report.table.problem.capacity);
  if (is_proved_too_small(report))
    return count + " do not fit " + capacity + ", which is proved;" + seconds.data();
  return "no placement of " + count + " in " + capacity + " was found" + seconds.data() +
         "; there may be one";
}

std::string conflict_text(const PlaceReport& report) {
  constexpr std::size_t kShown = 20;
  const auto& items = report.solution.conflict;
  std::string text = "conflict     ";
  text += items.size() == 1 ? "this buffer does" : "these " + std::to_string(items.size()) + " buffers do";
  text += " not fit it even alone:";
  for (std::size_t i = 0; i < items.size() && i < kShown; ++i) text += " " + report.table.ids[items[i]];
  if (items.size() > kShown) text += " and " + std::to_string(items.size() - kShown) + " more (see --json)";
  return text + "\n";
}

}  // namespace

bool is_proved_too_small(const PlaceReport& report) {
  const auto& capacity = report.table.problem.capacity;
  return capacity && (report.solution.lower_bound > *capacity || !report.solution.conflict.empty());
}

std::string to_text(const PlaceReport& report) {
  const Solution& solution = report.solution;
  std::string text = verdict(report) + "\n";
  text += "height       " + bytes_text(solution.height) + "\n";
  text += "lower bound  " + bytes_text(solution.lower_bound) + ": " + quality(solution) + "\n";
  text += "technique    " + solution.technique + "\n";
  if (!solution.conflict.empty()) text += conflict_text(report);
  text += "offsets      " + (report.output.empty()  ? "not written"
                             : report.output == "-" ? "above"
                                                    : report.output);
  return text;
}

nlohmann::json to_json(const PlaceReport& report) {
  const Solution& solution = report.solution;
  nlohmann::json json{{"height", solution.height.value()}, {"lower_bound", solution.lower_bound.value()},
                      {"proved", solution.proved_optimal}, {"technique", solution.technique},
                      {"seconds", report.seconds},         {"cpu_seconds", report.cpu_seconds},
                      {"gap", gap_of(solution)},           {"work", solution.work},
                      {"n", report.table.ids.size()}};
  if (const auto& capacity = report.table.problem.capacity) {
    json["capacity"] = capacity->value();
    json["fits"] = fits(report.table.problem, solution);
    json["conflict"] = nlohmann::json::array();
    for (std::uint32_t item : solution.conflict) json["conflict"].push_back(report.table.ids[item]);
  }
  if (!report.output.empty()) json["output"] = report.output;
  return json;
}

std::string progress_line(const Solution& solution) {
  return bytes_text(solution.height) + ", " + quality(solution) + ", by " + solution.technique;
}

}  // namespace stowage::replay
