// Reads a Trace's content: the tables of trace.fbs. Used by trace_file.cc only.
//
// Thread safety: functions without state.
#pragma once

#include "core/format/columns.h"
#include "core/trace.h"

namespace stowage::format {

struct TraceContent;

/// The trace, which is to be validated; nothing of it counts once `reader` is damaged. Requires: the
/// verifier of FlatBuffers accepted the content.
Trace read_trace(const TraceContent& content, ColumnReader& reader);

}  // namespace stowage::format
