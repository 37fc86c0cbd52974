"""Python's part of a budget: the guards of _guards.py, placed while the library says that tensors may be evicted."""

import contextlib
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
        self._library.stowage_part_bytes.restype = ctypes.c_ulonglong
        runtime.part_bytes = self._library.stowage_part_bytes
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
                if place == 3:
                    count_present_tensors(self._library, "cuda")
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
    """Every tensor that Python knows of, gradients, and what graphs have saved for their backward passes."""
    import torch
    plain = (torch.Tensor, torch.nn.Parameter)  # others may answer to anything as they like
    graphs = []
    for one in gc.get_objects():
        if type(one) in plain:
            yield one
            with contextlib.suppress(RuntimeError):  # a view that autograd refuses since its base was written
                if not one.is_leaf:
                    graphs.append(one.grad_fn)
                elif type(one.grad) in plain:
                    yield one.grad
    yield from (one for one in _saved_by(graphs) if type(one) in plain)


def _saved_by(nodes: list) -> Iterator[object]:
    """What these nodes of autograd and those behind them have saved. What hooks of the job's have packed (as
    torch.utils.checkpoint does) is left packed: to unpack it runs their code."""
    seen, names = set(), {}
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes.extend(next_one for next_one, _ in node.next_functions)
        kind = type(node)
        if kind not in names:
            names[kind] = [name for name in dir(kind) if name.startswith("_raw_saved_")]
        for name in names[kind]:
            try:
                saved = getattr(node, name)
                for one in saved if isinstance(saved, tuple) else (saved,):
                    yield one.data
            except (AttributeError, RuntimeError):  # freed by then, or overwritten since
                continue


def count_present_tensors(library: ctypes.CDLL, kind: str) -> None:
    """Tells the library of the tensors on devices of this kind that are there already, for a budget that begins now: on the
    CPU they count from now on, and everywhere they may be offloaded."""
    library.stowage_count.argtypes = [ctypes.c_void_p]
    for tensor in _present():
        if tensor.device.type == kind:
            try:
                storage = tensor.untyped_storage()
            except (NotImplementedError, RuntimeError):  # it has none
                continue
            library.stowage_count(storage._cdata)
