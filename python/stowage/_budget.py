"""Python's part of a budget: the guards of _guards.py, placed while the library says that tensors may be evicted."""

import ctypes
import functools
import gc
import sys
import threading
import types
from collections.abc import Iterator

_NO_MEMORY = 2  # library/control.h


def _checked(function):
    """`function` of the library, with its failures raised."""
    @functools.wraps(function)
    def checked(*arguments):
        status = function(*arguments)
        if status == 0:
            return
        import torch

        from stowage import _library
        text = _library.load().stowage_last_error().decode(errors="replace")
        raise torch.OutOfMemoryError(text) if status == _NO_MEMORY else _library.StowageError(text)
    return checked


class _Placing:
    """As many places as removes: the guards are there while somebody wants them."""

    def __init__(self, library: ctypes.CDLL):
        self._library, self._guards, self._wanted, self._lock = library, None, 0, threading.Lock()

    def _make(self):
        from stowage import _guards
        runtime = types.SimpleNamespace()
        for name in _guards.OF_STORAGES:
            function = getattr(self._library, f"stowage_{name}")
            function.argtypes = [ctypes.c_void_p]
            setattr(runtime, name, _checked(function))
        for name in _guards.OF_THREADS:
            function = getattr(self._library, f"stowage_{name}")
            function.restype = None
            setattr(runtime, name, function)
        return _guards.Guards(runtime)

    def __call__(self, place: int) -> int:
        try:
            with self._lock:
                if place == 2:
                    self._guards.tell_loans()
                    return 0
                self._wanted += 1 if place else -1
                if self._wanted > 0 and self._guards is None:
                    self._guards = self._make()
                    self._guards.place()
                elif self._wanted <= 0 and self._guards is not None:
                    self._guards.remove()
                    self._guards = None
            return 0
        except Exception as error:  # no exception crosses into the library
            print(f"stowage: warning: guards for evicted tensors: {error!r}", file=sys.stderr)
            return 1


@functools.cache
def offer_guards(library: ctypes.CDLL):
    """Tells the library how to place the guards. The callback that it gets lives as long as the process."""
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(_Placing(library))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))  # also where this module is loaded again
    library.stowage_guard_with(callback)
    return callback


def _present() -> Iterator["torch.Tensor"]:
    """Every tensor that Python knows of, and gradients. What only a graph holds is not found."""
    import torch
    plain = (torch.Tensor, torch.nn.Parameter)  # others may answer to anything as they like
    for one in gc.get_objects():
        if type(one) in plain:
            yield one
            if one.is_leaf and type(one.grad) in plain:
                yield one.grad


def count_present_tensors(library: ctypes.CDLL) -> None:
    """Counts the memory of CPU tensors that are there already, for a budget that begins now."""
    library.stowage_count.argtypes = [ctypes.c_void_p]
    for tensor in _present():
        if tensor.device.type == "cpu":
            try:
                storage = tensor.untyped_storage()
            except (NotImplementedError, RuntimeError):  # it has none
                continue
            library.stowage_count(storage._cdata)
