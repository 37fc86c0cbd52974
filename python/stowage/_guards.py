"""What Python hands out behind the dispatcher's back while tensors may be evicted, and the guards before it.

A pointer that leaves PyTorch (data_ptr, NumPy, DLPack, …) can be read and written at any time: its storage comes back,
stays, and nothing computed from it is evicted. What runs inside a custom autograd.Function may reach memory through
pointers of its own: its arguments and what it saved are made resident, and what it makes stays. Compiled
regions (torch.compile) are like that too. A thread that Python starts joins in before its first op.
"""

import _thread
import functools
import sys
import threading
from collections.abc import Callable, Iterable

import torch
import torch.utils.dlpack
from torch.autograd.function import BackwardCFunction, Function

from stowage._imports import AfterImport

# Methods that give out a pointer or look at the bytes without an op.
_EXPOSING = ("data_ptr", "numpy", "__array__", "__dlpack__", "tolist", "share_memory_")
_EXPOSING_STORAGE = ("data_ptr", "resize_", "tolist", "share_memory_", "_write_file", "_share_fd_cpu_",
                     "_share_filename_cpu_", "_share_cuda_", "__getitem__", "__setitem__")
_EXPOSING_FUNCTIONS = ((torch.utils.dlpack, "to_dlpack"), (torch, "to_dlpack"), (torch._C, "_to_dlpack"),
                       (torch._C, "_to_dlpack_versioned"))
_BACKWARD = ("apply", "apply_boxed")  # the engine calls the second where gradients come as a list; new in 2.15
_COMPILED = "torch._inductor.output_code"  # whose objects run compiled regions
_KNOWN_MODULES = ("torch.utils.checkpoint",)  # functions of PyTorch itself that only call ops
_MISSING = object()


def _tensors(values: Iterable) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())


def _address(tensor: torch.Tensor) -> int | None:
    """Of the StorageImpl; None for tensors without one."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


class Guards:
    """Placed once at a time. The functions are the runtime's: pin and expose take the address of a StorageImpl; join, in
    a thread that starts, nothing; expect_joins whether every thread that may run ops will have joined."""

    def __init__(self, pin: Callable, expose: Callable, enter: Callable, leave: Callable,
                 join: Callable = lambda: None, expect_joins: Callable = lambda all_join: None):
        self._pin, self._expose, self._enter, self._leave = pin, expose, enter, leave
        self._join, self._expect_joins = join, expect_joins
        self._replaced: list[tuple[object, str, object]] = []
        self._waiting: AfterImport | None = None

    def place(self) -> None:
        for name in _EXPOSING:
            self._before(torch.Tensor, name, self._expose_tensor)
        for name in _EXPOSING_STORAGE:
            self._before(torch.UntypedStorage, name, lambda kept: self._expose(kept._cdata))
        for module, name in _EXPOSING_FUNCTIONS:
            self._before(module, name, self._expose_tensor)
        # torch.save hands storages to its writer in C++.
        writer = torch._C.PyTorchFileWriter
        self._replace(writer, "write_record", self._around_writing(writer.write_record))
        self._replace(Function, "apply", classmethod(self._around_forward(vars(Function)["apply"])))
        for name in _BACKWARD:
            if hasattr(BackwardCFunction, name):
                self._replace(BackwardCFunction, name, self._around_backward(getattr(BackwardCFunction, name)))
        saved = torch._C._FunctionBase.saved_tensors
        self._replace(BackwardCFunction, "saved_tensors", property(lambda node: self._kept(saved.__get__(node))))
        for module in (_thread, threading):
            for name in ("start_new_thread", "_start_new_thread", "start_joinable_thread", "_start_joinable_thread"):
                if hasattr(module, name):
                    self._replace(module, name, self._around_start(getattr(module, name)))
        self._waiting = AfterImport(_COMPILED, self._guard_compiled)
        # Threads that run already did not come by here.
        self._expect_joins(len(sys._current_frames()) == 1)

    def remove(self) -> None:
        self._expect_joins(False)
        if self._waiting is not None:
            self._waiting.cancel()
        for owner, name, before in reversed(self._replaced):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._replaced.clear()

    def _replace(self, owner, name: str, by: object) -> None:
        self._replaced.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, by)

    def _before(self, owner, name: str, guard: Callable) -> None:
        method = getattr(owner, name, None)
        if method is None:
            return

        @functools.wraps(method)
        def guarded(this, *arguments, **named):
            guard(this)
            return method(this, *arguments, **named)
        self._replace(owner, name, guarded)

    def _expose_tensor(self, tensor: torch.Tensor) -> None:
        address = _address(tensor)
        if address is not None:
            self._expose(address)

    def _kept(self, values):
        for tensor in _tensors(values):
            address = _address(tensor)
            if address is not None:
                self._pin(address)
        return values

    def _around_writing(self, write: Callable) -> Callable:
        @functools.wraps(write)
        def guarded(writer, name, content, *rest):
            if isinstance(content, torch.UntypedStorage):
                self._pin(content._cdata)
            return write(writer, name, content, *rest)
        return guarded

    def _guard_compiled(self, module) -> None:
        for kind in (module.CompiledFxGraph, module.CompiledAOTI):
            self._replace(kind, "__call__", self._around_compiled(kind.__call__))

    def _around_compiled(self, run: Callable) -> Callable:
        @functools.wraps(run)
        def guarded(region, inputs):
            self._kept(inputs)
            for index in getattr(region, "mutated_input_idxs", ()):
                if isinstance(inputs[index], torch.Tensor):
                    self._expose_tensor(inputs[index])
            self._enter()
            try:
                return run(region, inputs)
            finally:
                self._leave()
        return guarded

    def _around_start(self, start: Callable) -> Callable:
        @functools.wraps(start)
        def guarded(function, *rest, **named):
            @functools.wraps(function)
            def joined(*arguments, **keywords):
                self._join()
                return function(*arguments, **keywords)
            return start(joined, *rest, **named)
        return guarded

    def _around_forward(self, apply) -> Callable:
        """`apply`: a class method, of Python or (newer torches) of C."""
        def guarded(function, *arguments, **named):
            run = apply.__get__(None, function)
            if function.__module__.startswith(_KNOWN_MODULES):
                return run(*arguments, **named)
            self._kept((arguments, named))
            self._enter()
            try:
                return run(*arguments, **named)
            finally:
                self._leave()
        return functools.update_wrapper(guarded, apply)

    def _around_backward(self, apply: Callable) -> Callable:
        @functools.wraps(apply)
        def guarded(node, *gradients):
            if node._forward_cls.__module__.startswith(_KNOWN_MODULES):
                return apply(node, *gradients)
            self._kept(gradients)
            self._enter()
            try:
                return apply(node, *gradients)
            finally:
                self._leave()
        return guarded
