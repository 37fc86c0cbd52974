// What Stowage changes in the settings of PyTorch's native allocator while it is at work, and the way back.
//
// What the user sets, by environment or at run time, before, between or after, stays in force. Thread safety:
// any thread; calls exclude each other. A setting that the user makes at the same moment may be lost.
#pragma once

#include "core/units.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

/// While recording, upstream's pages around persistent tensors should be able to go back to the device: turns
/// expandable segments on, unless the user chose otherwise by his settings of the allocator or
/// settings.arena.
void prefer_expandable_segments(const session::Settings& settings);

/// They are on, and by us. Without a lock.
bool expandable_segments_are_ours() noexcept;

/// Bytes that upstream may map beyond what it checked against its limit: the rest of an expandable segment's
/// last page.
Bytes page_slack();

/// Undoes that; true if there was something to undo. Upstream reuses no cached page of an expandable segment
/// from then on: the caller empties its cache.
bool restore_upstream_settings();

}  // namespace stowage::plugin
