// The report as people read it.
//
// Thread safety: pure functions; nothing is thrown.
#pragma once

#include <string>

#include "core/result.h"

namespace stowage::plugin {

/// The whole process's report as a JSON object: that of the first device with an arena (else of the first),
/// and all devices under "devices", each with its newest session. Keys in docs/report.md.
std::string process_report_json();
/// True if such a report is empty: no iteration ended, and tensors held less than a page.
bool tells_nothing(const std::string& json);
/// A table of some ten lines a device from such a report. Error: kForeignFile, it is no report.
Result<std::string> report_text(const std::string& json);

}  // namespace stowage::plugin
