"""PyTorch's profiler finds CUPTI as it would without Stowage: recording leaves CUPTI to it before it begins.

The library notices a profiler by itself, but only once that has begun. CUPTI then still fills buffers of Stowage's, and the
profiler prints an error for each.
"""

import ctypes
import functools


def make_room(library: ctypes.CDLL) -> None:
    """Lets each profile begin with a call of stowage_leave_cupti(). Calling it again changes nothing."""
    import torch.autograd.profiler as profiler
    prepare = getattr(profiler, "_prepare_profiler", None)
    if prepare is None or hasattr(prepare, "__wrapped__"):
        return
    library.stowage_leave_cupti.restype = None

    @functools.wraps(prepare)
    def leaving(*arguments, **named):
        library.stowage_leave_cupti()
        return prepare(*arguments, **named)
    profiler._prepare_profiler = leaving
