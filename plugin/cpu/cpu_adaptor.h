// PyTorch's CPU allocator with Stowage in front: the arena serves planned requests, upstream serves the
// rest.
//
// All data is handed out under one constant deleter with context == data, as raw_allocate demands. Data that
// upstream handed out before the install keeps upstream's deleter, unless count_cpu() takes it in. Addresses
// are aligned to 64 bytes as upstream's are. Thread safety: every member, from any thread. The adaptor is
// never destroyed: tensors die after static destruction.
#pragma once

#include <c10/core/StorageImpl.h>

#include "core/result.h"
#include "session/session.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

/// Puts a fresh session in front of PyTorch's CPU allocator. A second install without a remove in between
/// does nothing. Error: kUnsupported when the CPU allocator in place has no raw deleter.
Status install_cpu(const session::Settings& settings);
/// Puts upstream back. Tensors in the arena stay valid until they are freed.
void remove_cpu();
/// Counts the memory of a storage that upstream allocated before the install, until it is freed. Does nothing
/// without a budget. Requires: the storage lives, and no thread frees or replaces its memory meanwhile.
void count_cpu(c10::StorageImpl& storage);
/// The session in place, or nullptr.
session::Session* cpu_session();

}  // namespace stowage::plugin
