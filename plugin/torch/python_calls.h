// Calls on Python's main thread between two of its bytecodes, where that thread is in no op, through Python's
// own queue of pending calls. The library does not link Python: it is looked up in the process.
//
// Thread safety: any thread; Python's lock is not needed.
#pragma once

#include <functional>

namespace stowage::plugin {

/// Queues `work`, which is dropped if it then turns out that the main thread is inside a backward pass (in a
/// hook). What it throws is swallowed. False: there is no Python in the process, or its queue is full.
bool call_in_python(std::function<void()> work);

}  // namespace stowage::plugin
