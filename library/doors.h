// Which of PyTorch's allocators are taken over, and the way back.
//
// Thread safety: the caller makes sure that only one thread opens or closes at a time.
#pragma once

#include "core/result.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

/// Installs the adaptors that settings.devices names. Error: one cannot be installed; none is then.
Status open_doors(const session::Settings& settings);
/// Removes what is installed. Live tensors stay valid.
void close_doors();
/// Another client of CUPTI is about to begin. Any thread may call this at any time.
void make_room_for_profiler() noexcept;

}  // namespace stowage::plugin
