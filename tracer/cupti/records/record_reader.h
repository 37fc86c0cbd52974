// Reads the records in a buffer that CUPTI filled.
//
// Records are found by the loaded library's own cuptiActivityGetNextRecord, since their sizes differ between
// versions. The fields that are read lie at the same offsets in CUDA 12.8 to 13.5; tests/tracer compares them
// with the headers that are installed. A kind that is not known is skipped.
//
// Thread safety: pure, apart from the NameBook that it fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/activity.h"
#include "tracer/cupti/records/library.h"
#include "tracer/cupti/records/record.h"

namespace stowage::tracer::cupti {

/// Texts by number, each once. Not thread-safe.
class NameBook {
 public:
  std::uint32_t number_of(std::string_view text);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

/// The record at `record`, which has room for the whole struct of its kind. False: a kind that is not used.
/// Names are copied at once: CUPTI's become invalid when a module is unloaded.
bool read_record(const std::byte* record, const Library& library, NameBook& names, Record& into);

/// Appends the records of the `valid` bytes at `buffer` to `into`, and counts what is damaged or unknown in
/// `losses`.
void read_buffer(std::byte* buffer, std::size_t valid, const Library& library, NameBook& names,
                 std::vector<Record>& into, ActivityLosses& losses);

}  // namespace stowage::tracer::cupti
