// The content of a PlanContext inside another content. Used by the format's own .cc files only.
#pragma once

#include <cstdint>

#include "core/format/columns.h"
#include "core/format/context_generated.h"
#include "core/kept_plans.h"

namespace stowage::format {

/// Bytes that its strings take at most.
std::uint64_t context_content_bound(const PlanContext& context);
flatbuffers::Offset<ContextContent> write_context_content(flatbuffers::FlatBufferBuilder& builder,
                                                          const PlanContext& context);
/// Checks nothing but the strings: a context is compared as a whole.
PlanContext read_context_content(const ContextContent& content, ColumnReader& reader);

}  // namespace stowage::format
