// Single events of the Trace Event Format, written one by one, so that a long trace needs no memory for its
// text.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace stowage::replay {

using Json = nlohmann::ordered_json;

/// Where a slice is drawn: the row `thread` of `process`.
struct Row {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

/// The format's unit of time.
inline double micros(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

/// A stretch of time on a row.
Json slice(const char* category, const std::string& name, Row row, std::uint64_t begin_ns,
           std::uint64_t duration_ns);

/// A kernel's name as a person writes it; any other name as it is.
std::string plain_name(const std::string& name);

class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) {}
  void add(const Json& event);
  /// Names a row, or with "process_name" the process that it belongs to.
  void name(const char* what, Row row, const std::string& name);
  /// The lower its index, the higher a process is drawn.
  void sort(std::uint32_t process, std::uint32_t index);
  /// One end of an arrow: `phase` is "s" where it starts, "f" where it ends; `id` joins the two.
  void arrow(const char* phase, std::uint32_t id, Row row, std::uint64_t at_ns);

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace stowage::replay
