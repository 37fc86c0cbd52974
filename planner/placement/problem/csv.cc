#include "planner/placement/problem/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "planner/placement/problem/csv_columns.h"

namespace stowage::planner::placement {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

void split(std::string_view text, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    const std::size_t end = text.find(separator);
    fields.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Reads line by line; what a line lacks is said by throwing, and the one catch adds where it stands.
class Parser {
 public:
  explicit Parser(const CsvOptions& options) { table_.inclusive = options.inclusive; }

  struct Wrong {
    std::string what;
  };

  void header(std::string_view line) {
    place_.fill(kNowhere);
    split(line, ',', fields_);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      table_.columns.emplace_back(fields_[i]);
      const Column column = column_of(fields_[i]);
      if (column == kOther) continue;
      if (place_[column] != kNowhere) throw Wrong{"the column " + std::string(fields_[i]) + " appears twice"};
      place_[column] = i;
      if (fields_[i] == "end") table_.inclusive = true;
    }
    for (const auto& [name, column] : kNames) {
      if (column > kSize) break;
      if (place_[column] == kNowhere)
        throw Wrong{"there is no column " + std::string(name) + "; the first line names the columns"};
    }
  }

  void record(std::string_view line) {
    split(line, ',', fields_);
    if (fields_.size() != table_.columns.size()) {
      throw Wrong{std::to_string(fields_.size()) + " fields where the first line names " +
                  std::to_string(table_.columns.size())};
    }
    Item item;
    item.birth = natural(kLower, "lower");
    item.death = end_of(field(kUpper), "upper");
    item.size = Bytes(natural(kSize, "size"));
    item.alignment = Bytes(has(kAlignment) ? natural(kAlignment, "alignment") : 1);
    if (has(kOffset)) item.fixed = Offset(natural(kOffset, "offset"));
    check(item);
    if (has(kHint)) table_.hints.push_back(hint());
    if (has(kGaps)) gaps(item);
    table_.ids.emplace_back(field(kId));
    table_.problem.items.push_back(item);
  }

  CsvTable take() { return std::move(table_); }

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  [[nodiscard]] bool has(Column column) const { return place_[column] != kNowhere; }
  [[nodiscard]] std::string_view field(Column column) const { return fields_[place_[column]]; }

  static std::int64_t integer(std::string_view text, const char* what) {
    const std::optional<std::int64_t> value = number(text);
    if (!value) throw Wrong{std::string(what) + " \"" + std::string(text) + "\" is not a whole number"};
    return *value;
  }
  static std::uint64_t natural_in(std::string_view text, const char* what) {
    const std::int64_t value = integer(text, what);
    if (value < 0) throw Wrong{std::string(what) + " " + std::string(text) + " is negative"};
    return static_cast<std::uint64_t>(value);
  }
  [[nodiscard]] std::uint64_t natural(Column column, const char* what) const {
    return natural_in(field(column), what);
  }
  /// A half-open end from what the file says, which may be the last tick: -1 then is the end at 0.
  [[nodiscard]] std::uint64_t end_of(std::string_view text, const char* what) const {
    if (table_.inclusive && integer(text, what) == -1) return 0;
    return natural_in(text, what) + (table_.inclusive ? 1 : 0);
  }
  [[nodiscard]] std::optional<Offset> hint() const {
    const std::int64_t value = integer(field(kHint), "hint");
    if (value < 0) return {};
    return Offset(static_cast<std::uint64_t>(value));
  }

  void check(const Item& item) {
    if (item.death < item.birth) throw Wrong{"upper is before lower"};
    if (item.alignment.value() == 0) throw Wrong{"the alignment is 0; 1 means none"};
    const std::uint64_t offset = item.fixed ? item.fixed->value() : 0;
    if (offset % item.alignment.value() != 0) throw Wrong{"the offset is not a multiple of the alignment"};
    for (const std::uint64_t part : {item.size.value(), item.alignment.value(), offset}) {
      total_ += part;
      if (part > kMaxTotalBytes || total_ > kMaxTotalBytes)
        throw Wrong{"sizes, alignments and offsets up to here add up to more than 2^62"};
    }
  }

  void gaps(const Item& item) {
    const std::size_t first = table_.problem.gaps.size();
    std::string_view rest = field(kGaps);
    while (!rest.empty()) {
      const std::size_t end = rest.find(' ');
      gap(rest.substr(0, end), item);
      rest = end == std::string_view::npos ? std::string_view() : trimmed(rest.substr(end));
    }
    const auto own = std::span(table_.problem.gaps).subspan(first);
    std::sort(own.begin(), own.end(), [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < own.size(); ++i) {
      if (own[i].begin < own[i - 1].end) throw Wrong{"two gaps of the buffer overlap"};
    }
  }

  void gap(std::string_view text, const Item& item) {
    const std::size_t dash = text.find('-'), at = text.find('@');
    if (dash == std::string_view::npos || at < dash) throw bad_gap(text, "begin-end or begin-end@low:high");
    Gap gap;
    gap.item = static_cast<std::uint32_t>(table_.problem.items.size());
    gap.begin = natural_in(text.substr(0, dash), "the gap's begin");
    gap.end =
        end_of(text.substr(dash + 1, at == std::string_view::npos ? at : at - dash - 1), "the gap's end");
    if (at != std::string_view::npos) {
      const std::string_view window = text.substr(at + 1);
      const std::size_t colon = window.find(':');
      if (colon == std::string_view::npos) throw bad_gap(text, "begin-end@low:high");
      gap.lower = Bytes(natural_in(window.substr(0, colon), "the gap's low"));
      gap.upper = Bytes(natural_in(window.substr(colon + 1), "the gap's high"));
    }
    if (gap.begin == gap.end) return;  // a gap of no time
    if (gap.begin < item.birth || gap.end < gap.begin || gap.end > item.death)
      throw bad_gap(text, "a stretch of the buffer's life");
    if (gap.lower > gap.upper || gap.upper > item.size) throw bad_gap(text, "bytes of the buffer");
    table_.problem.gaps.push_back(gap);
  }
  static Wrong bad_gap(std::string_view text, const char* wanted) {
    return Wrong{"gap \"" + std::string(text) + "\" is not " + wanted};
  }

  CsvTable table_;
  std::array<std::size_t, kColumns> place_{};  ///< index of each known column, or kNowhere
  std::vector<std::string_view> fields_;       ///< of the line that is being read
  std::uint64_t total_ = 0;                    ///< of sizes, alignments and offsets so far
};

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  Parser parser(options);
  std::size_t line_number = 1;
  try {
    for (; !text.empty(); ++line_number) {
      const std::size_t end = text.find('\n');
      const std::string_view line = trimmed(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.empty() && line_number > 1) break;
      if (line_number == 1)
        parser.header(line);
      else
        parser.record(line);
    }
    if (line_number == 1) throw Parser::Wrong{"the file is empty; its first line must name the columns"};
  } catch (const Parser::Wrong& wrong) {
    return Error{ErrorCode::kInvalidArgument,
                 name + ":" + std::to_string(line_number) + ": " + wrong.what + "; correct it and try again"};
  }
  return parser.take();
}

Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return Error{ErrorCode::kNotFound, "there is no file " + path.string()};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::is_directory(path, ignored) || !file ||
      (file.peek() != EOF && !(text << file.rdbuf())))
    return Error{ErrorCode::kIo, path.string() + " cannot be read; a placement problem is a CSV file"};
  return parse_csv(text.str(), path.string(), options);
}

}  // namespace stowage::planner::placement
