// A Plan as a table of a FlatBuffer (plan.fbs), which is the content of a plan's file and a part of others.
// Used by the format's own .cc files only.
//
// Thread safety: functions without state.
#pragma once

#include "core/format/columns.h"
#include "core/format/plan_generated.h"
#include "core/plan.h"

namespace stowage::format {

/// An upper bound of the content's bytes, known before any is written.
std::uint64_t plan_content_bound(const Plan& plan);
flatbuffers::Offset<PlanContent> write_plan_content(flatbuffers::FlatBufferBuilder& builder,
                                                    const Plan& plan);
/// The plan is to be used only if `reader` is not damaged afterwards, and if it passes Plan::validate().
Plan read_plan_content(const PlanContent& content, ColumnReader& reader);

}  // namespace stowage::format
