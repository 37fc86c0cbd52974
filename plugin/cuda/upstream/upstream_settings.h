// Changes settings of PyTorch's native allocator while Stowage is at work, and restores them.
//
// The user's own settings, by environment or at run time, always stay in force. Thread safety: any thread;
// calls exclude each other. A setting that the user makes at the same moment may be lost.
#pragma once

#include "core/units.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

/// Turns expandable segments on, so that upstream can give pages around persistent tensors back to the
/// device while Stowage records. Not if the user chose otherwise by settings of the allocator or
/// settings.arena.
void prefer_expandable_segments(const session::Settings& settings);

/// Expandable segments are on, and Stowage turned them on. Takes no lock.
bool expandable_segments_are_ours() noexcept;

/// Bytes that upstream may map beyond what it checked against its limit: the rest of an expandable segment's
/// last page.
Bytes page_slack();

/// Undoes prefer_expandable_segments(); true if there was something to undo. From then on upstream reuses no
/// cached page of an expandable segment: the caller empties its cache.
bool restore_upstream_settings();

}  // namespace stowage::plugin
