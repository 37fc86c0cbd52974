#include "replay/place/place_input.h"

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "core/format/trace_file.h"
#include "planner/lifetimes.h"

namespace stowage::replay {
namespace {

namespace placement = planner::placement;

/// True if the file begins as every file of Stowage does (core/format/container.h).
bool is_ours(const std::filesystem::path& path) {
  constexpr std::string_view kBegin = "\x89STOW\r\n\x1a";
  std::array<char, kBegin.size()> head{};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == kBegin;
}

Result<placement::CsvTable> read_trace(const std::filesystem::path& path) {
  const auto trace = load_trace(path);
  if (!trace) return trace.error();
  auto lifetimes = planner::find_lifetimes(*trace);
  if (!lifetimes) return lifetimes.error();
  placement::CsvTable table;
  table.columns = {"id", "lower", "upper", "size"};
  table.ids.reserve(lifetimes->slots.size());
  for (const planner::Slot& slot : lifetimes->slots)
    table.ids.push_back(std::to_string(slot.entry) + (slot.spare ? ".spare" : ""));
  table.problem = std::move(lifetimes->problem);
  return table;
}

}  // namespace

Result<placement::CsvTable> read_place_input(const std::filesystem::path& path,
                                             const placement::CsvOptions& options) {
  return is_ours(path) ? read_trace(path) : placement::read_csv(path, options);
}

}  // namespace stowage::replay
