// A problem as a CSV file: what csv.h promises of make_table() and to_csv().
#include <algorithm>
#include <utility>

#include "planner/placement/problem/csv.h"
#include "planner/placement/problem/csv_columns.h"

namespace stowage::planner::placement {
namespace {

void append(std::string& text, std::uint64_t value) { text += std::to_string(value); }

/// A half-open end as the file gives it.
void append_end(std::string& text, std::uint64_t end, bool inclusive) {
  if (inclusive && end == 0)
    text += "-1";
  else
    append(text, end - (inclusive ? 1 : 0));
}

void append_gaps(std::string& text, const CsvTable& table, std::size_t item, std::size_t& gap) {
  bool first = true;
  for (; gap < table.problem.gaps.size() && table.problem.gaps[gap].item == item; ++gap) {
    const Gap& own = table.problem.gaps[gap];
    if (!first) text += ' ';
    first = false;
    append(text, own.begin);
    text += '-';
    append_end(text, own.end, table.inclusive);
    if (own.lower == own.upper) continue;
    text += '@';
    append(text, own.lower.value());
    text += ':';
    append(text, own.upper.value());
  }
}

/// `gap` is the first gap that is not written yet.
void append_field(std::string& text, const CsvTable& table, Column column, std::size_t i, std::size_t& gap,
                  const std::optional<Offset>& offset) {
  const Item& item = table.problem.items[i];
  switch (column) {
    case kId:
      text += table.ids[i];
      break;
    case kLower:
      append(text, item.birth);
      break;
    case kUpper:
      append_end(text, item.death, table.inclusive);
      break;
    case kSize:
      append(text, item.size.value());
      break;
    case kAlignment:
      append(text, item.alignment.value());
      break;
    case kHint:
      text += table.hints[i] ? std::to_string(table.hints[i]->value()) : "-1";
      break;
    case kGaps:
      append_gaps(text, table, i, gap);
      break;
    case kOffset:
      if (offset) append(text, offset->value());
      break;
    case kColumns:
    case kOther:
      break;
  }
}

}  // namespace

Result<CsvTable> make_table(const Problem& problem) {
  if (problem.period != 0 || !problem.regions.empty() || stream_classes(problem).size() > 1) {
    return Error{ErrorCode::kUnsupported,
                 "a CSV file has no columns for periods, stream classes and regions; leave them out"};
  }
  CsvTable table;
  table.problem = problem;
  table.columns = {"id", "lower", "upper", "size"};
  const auto& items = problem.items;
  const auto aligned = [](const Item& item) { return item.alignment != Bytes(1); };
  const auto fixed = [](const Item& item) { return item.fixed.has_value(); };
  if (std::any_of(items.begin(), items.end(), aligned)) table.columns.emplace_back("alignment");
  if (!problem.gaps.empty()) table.columns.emplace_back("gaps");
  if (std::any_of(items.begin(), items.end(), fixed)) {
    if (!std::all_of(items.begin(), items.end(), fixed))
      return Error{ErrorCode::kUnsupported, "a CSV file has offsets for all items or for none"};
    table.columns.emplace_back("offset");
  }
  for (std::size_t i = 0; i < items.size(); ++i) table.ids.push_back(std::to_string(i));
  return table;
}

std::string to_csv(const CsvTable& table, std::span<const Offset> offsets) {
  std::vector<std::pair<std::string, Column>> columns;
  for (const std::string& name : table.columns) {
    const Column column = column_of(name);
    if (column != kOther) columns.emplace_back(name, column);
  }
  const auto is_offset = [](const auto& column) { return column.second == kOffset; };
  if (!offsets.empty() && std::none_of(columns.begin(), columns.end(), is_offset))
    columns.emplace_back("offset", kOffset);
  std::string text;
  for (std::size_t c = 0; c < columns.size(); ++c) (text += c == 0 ? "" : ",") += columns[c].first;
  text += '\n';
  std::size_t gap = 0;
  for (std::size_t i = 0; i < table.problem.items.size(); ++i) {
    const std::optional<Offset> offset = offsets.empty() ? table.problem.items[i].fixed : offsets[i];
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c != 0) text += ',';
      append_field(text, table, columns[c].second, i, gap, offset);
    }
    text += '\n';
  }
  return text;
}

}  // namespace stowage::planner::placement
