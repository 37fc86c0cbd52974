// Keeps the ops seen that run inside Python's `__torch_dispatch__` (tensor subclasses, modes).
//
// Before PyTorch calls it, it excludes every dispatch key above Python's for the thread, the interposer's
// among them (ATen/core/PythonFallbackKernel.cpp). All such calls go through PyInterpreter's table of
// functions; the table is replaced once by one that takes the exclusion back for the time of a call.
//
// Thread safety: any thread. The first call should come before other threads run ops of subclasses.
#pragma once

namespace stowage::recompute {

/// From the first call on, such ops are seen in threads that take part. Never taken back. No effect in a
/// process without Python.
void see_python_dispatch();

}  // namespace stowage::recompute
