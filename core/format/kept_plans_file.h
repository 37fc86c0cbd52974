// Reads and writes KeptPlans as bytes. The layout is specified in container.h and kept_plans.fbs.
//
// For any bytes the answer is KeptPlans that pass validate(), or an error with a name; never a crash, never
// more memory than some small multiple of the file. Thread safety: functions without state. No exception
// leaves.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/kept_plans.h"
#include "core/result.h"

namespace stowage {

/// The file's bytes; the same plans always make the same bytes. Errors: those of KeptPlans::validate(),
/// kInvalidArgument (more than 1 GiB of content), kOutOfMemory.
Result<std::vector<std::byte>> encode_kept_plans(const KeptPlans& kept);

/// The opposite. Errors: kForeignFile, kUnknownVersion, kDamagedFile, kOutOfMemory.
Result<KeptPlans> decode_kept_plans(std::span<const std::byte> file);

}  // namespace stowage
