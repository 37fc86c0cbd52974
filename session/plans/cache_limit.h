// How much the folder of kept plans may hold: what was not used for longest goes first.
//
// Thread safety: any thread and any process; two at a time remove the same files.
#pragma once

#include <cstdint>
#include <string>

#include "core/format/private_folder.h"

namespace stowage::session {

/// Removes kept plans from `folder` until they take at most `most_bytes`, the file `newest` last of all; and
/// what writers left that ended too early. Files that are not ours are neither counted nor removed.
void limit_cache(const format::PrivateFolder& folder, std::uint64_t most_bytes, const std::string& newest);

}  // namespace stowage::session
