#include "session/settings/environment.h"

#include <algorithm>
#include <numeric>

#include "session/settings/settings.h"

extern char** environ;

namespace stowage::session {
namespace {

/// Letters to change, insert or remove between `from` and `to` (Levenshtein distance).
std::size_t distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string line = *at;
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos)
      environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

std::string value_of(const Environment& environment, std::string_view name) {
  const auto at = std::find_if(environment.begin(), environment.end(),
                               [&](const auto& variable) { return variable.first == name; });
  return at == environment.end() ? "" : at->second;
}

bool belongs_to_tools(const std::string& variable) {
  return variable.rfind("STOWAGE_SIM", 0) == 0 || variable == "STOWAGE_BUILD" || variable == "STOWAGE_PYTHON";
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kFar = 4;
  std::string nearest;
  std::size_t least = kFar;
  for (const std::string& candidate : known) {
    if (const std::size_t away = distance(name, candidate); away < least) {
      least = away;
      nearest = candidate;
    }
  }
  return nearest;
}

std::vector<std::string> unknown_variables(const Environment& environment) {
  std::vector<std::string> known;
  for (const SettingRow& row : list_settings(Settings{})) known.push_back(row.variable);
  std::vector<std::string> sentences;
  for (const auto& [name, value] : environment) {
    if (name.rfind("STOWAGE_", 0) != 0 || belongs_to_tools(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    sentences.push_back(
        "there is no setting " + name + ", so it is ignored; " +
        (nearest.empty() ? "`stowage settings` lists them all" : "did you mean " + nearest + "?"));
  }
  return sentences;
}

}  // namespace stowage::session
