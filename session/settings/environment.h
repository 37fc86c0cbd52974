// The process's environment as data, and what in it was meant for Stowage but is no setting.
//
// Thread safety: pure functions, but for process_environment(): nobody may change the environment meanwhile.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stowage::session {

/// Names and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

Environment process_environment();
/// One of STOWAGE's own that is no setting of the library: the simulator's, the build's, the tests'.
bool belongs_to_tools(const std::string& variable);
/// The name in `known` with the smallest edit distance; empty where none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);
/// One sentence for each variable that begins with STOWAGE_ and that neither a setting nor a tool has.
std::vector<std::string> unknown_variables(const Environment& environment);

}  // namespace stowage::session
