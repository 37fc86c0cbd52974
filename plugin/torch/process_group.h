// The default process group of torch.distributed, and a store that its ranks reach.
//
// Only a TCPStore is used: its calls take no lock of Python's, and a connection more changes nothing for the
// job. A FileStore counts its users, and a store written in Python would run Python. Where torch was built
// without torch.distributed there is no group.
//
// Thread safety: any thread.
#pragma once

#include <optional>

#include "session/ports/rank_group.h"

namespace stowage::plugin {

/// Nothing: torch.distributed has no default group now, or its store is none that can be shared.
[[nodiscard]] std::optional<session::RankGroup> default_process_group() noexcept;

}  // namespace stowage::plugin
