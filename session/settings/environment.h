// The process's environment as data, and which STOWAGE_ variables in it are not settings.
//
// Thread safety: pure functions; during process_environment() no thread may change the environment.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowage::session {

/// Names and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

Environment process_environment();
/// The value of `name`; empty if it is not there.
std::string value_of(const Environment& environment, std::string_view name);
/// A STOWAGE_ variable that is no setting of the library: the simulator's, the build's, the tests'.
bool belongs_to_tools(const std::string& variable);
/// The name in `known` with the smallest edit distance (letters to change, insert or remove); empty if none
/// is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);
/// One sentence for each variable that begins with STOWAGE_ and belongs to neither a setting nor a tool.
std::vector<std::string> unknown_variables(const Environment& environment);

}  // namespace stowage::session
