#include "replay/timeline/events.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace stowage::replay {

Json slice(const char* category, const std::string& name, Row row, std::uint64_t begin_ns,
           std::uint64_t duration_ns) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", row.process},
          {"tid", row.thread},
          {"ts", micros(begin_ns)},
          {"dur", micros(duration_ns)}};
}

std::string plain_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return plain != nullptr ? plain.get() : name;
}

void Events::add(const Json& event) {
  out_ << (first_ ? "\n" : ",\n") << event.dump(-1, ' ', false, Json::error_handler_t::replace);
  first_ = false;
}

void Events::name(const char* what, Row row, const std::string& name) {
  add({{"ph", "M"}, {"name", what}, {"pid", row.process}, {"tid", row.thread}, {"args", {{"name", name}}}});
}

void Events::sort(std::uint32_t process, std::uint32_t index) {
  add({{"ph", "M"},
       {"name", "process_sort_index"},
       {"pid", process},
       {"tid", 0},
       {"args", {{"sort_index", index}}}});
}

void Events::arrow(const char* phase, std::uint32_t id, Row row, std::uint64_t at_ns) {
  Json event = {{"ph", phase},        {"id", id},          {"cat", "ac2g"},      {"name", "ac2g"},
                {"pid", row.process}, {"tid", row.thread}, {"ts", micros(at_ns)}};
  if (*phase == 'f') event["bp"] = "e";
  add(event);
}

}  // namespace stowage::replay
