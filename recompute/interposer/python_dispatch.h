// Keeps the ops seen that run inside Python's `__torch_dispatch__` (tensor subclasses, modes).
//
// Before PyTorch calls it, it excludes every dispatch key above Python's for the thread, the interposer's
// among them (ATen/core/PythonFallbackKernel.cpp). All such calls go through PyInterpreter's table of
// functions; the table is replaced once by one that takes the exclusion back for the time of a call. Since
// objects of Python are counted through the table, too, that waits for the first op of a subclass or mode.
//
// Thread safety: any thread.
#pragma once

namespace stowage::recompute {

/// From the first call on, such ops are seen in threads that take part. Never taken back. No effect in a
/// process without Python.
void see_python_dispatch();

}  // namespace stowage::recompute
