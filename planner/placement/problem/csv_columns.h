// The columns of a problem's CSV file (csv.h), and what they may be called.
//
// Thread safety: constants and a pure function.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stowage::planner::placement {

/// kColumns: how many are known. kOther: one that is passed over.
enum Column : std::size_t { kId, kLower, kUpper, kSize, kAlignment, kHint, kGaps, kOffset, kColumns, kOther };

/// Every name of each.
inline constexpr std::array<std::pair<std::string_view, Column>, 13> kNames{{{"id", kId},
                                                                             {"buffer", kId},
                                                                             {"buffer_id", kId},
                                                                             {"lower", kLower},
                                                                             {"begin", kLower},
                                                                             {"start", kLower},
                                                                             {"upper", kUpper},
                                                                             {"end", kUpper},
                                                                             {"size", kSize},
                                                                             {"alignment", kAlignment},
                                                                             {"hint", kHint},
                                                                             {"gaps", kGaps},
                                                                             {"offset", kOffset}}};

/// kOther for a name that is not known.
inline Column column_of(std::string_view name) {
  for (const auto& [known, column] : kNames) {
    if (known == name) return column;
  }
  return kOther;
}

}  // namespace stowage::planner::placement
