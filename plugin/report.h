// The report as people read it.
//
// Thread safety: pure functions; nothing is thrown.
#pragma once

#include <string>

namespace stowage::plugin {

/// The whole process's report as a JSON object: that of the first session with an arena (else of the first),
/// and all sessions under "devices". Keys in docs/report.md.
std::string process_report_json();
/// A table of some ten lines a device from such a report. An object that is none gives one line that says so.
std::string report_text(const std::string& json);

}  // namespace stowage::plugin
