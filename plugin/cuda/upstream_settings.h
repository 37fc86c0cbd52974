// What Stowage changes in the settings of PyTorch's native allocator while it is at work, and the way back.
//
// Thread safety: any thread; calls exclude each other.
#pragma once

#include "plugin/settings.h"

namespace stowage::plugin {

/// While recording, upstream's pages around persistent tensors should be able to go back to the device: turns
/// expandable segments on, unless the user chose otherwise by environment or settings.arena.
void prefer_expandable_segments(const Settings& settings);

/// Undoes that; true if there was something to undo. Upstream reuses no cached page of an expandable segment
/// from then on: the caller empties its cache.
bool restore_upstream_settings();

}  // namespace stowage::plugin
