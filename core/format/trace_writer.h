// Writes a Trace's content: the tables of trace.fbs. Used by trace_file.cc only.
//
// Thread safety: functions without state.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>

#include "core/trace.h"

namespace stowage::format {

/// An upper bound of the content's bytes, known before any is written.
std::uint64_t content_bound(const Trace& trace);

/// The whole content. Requires: the trace is valid.
void write_trace(flatbuffers::FlatBufferBuilder& builder, const Trace& trace);

}  // namespace stowage::format
