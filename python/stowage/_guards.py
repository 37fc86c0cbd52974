"""What Python hands out behind the dispatcher's back while tensors may be evicted, and the guards before it.

A pointer that leaves PyTorch (data_ptr, NumPy, DLPack, …) brings its storage back; what else that means, and for how
long, is in _exports.py. What runs inside a custom autograd.Function may reach memory through pointers of its own, unless
its code says that it only calls ops (_functions.py): its arguments and what it saved are made resident, and what it makes
stays. Compiled regions (torch.compile) are like that too. A thread that Python starts joins in before its first op.
"""

import _thread
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterable

import torch
import torch.utils.dlpack
from torch.autograd.function import BackwardCFunction, Function

from stowage._exports import Exports, address_of, loans
from stowage._functions import only_calls_ops
from stowage._imports import AfterImport
from stowage._interpreted import INTERPRETERS, keeps_out_of_memory
from stowage._optimizers import in_parts, steps_on_lists
from stowage._raw_access import FUNCTIONS, HIDDEN, STORAGE, TENSOR

_DLPACK = ((torch.utils.dlpack, "to_dlpack"), (torch, "to_dlpack"), (torch._C, "_to_dlpack"),
           (torch._C, "_to_dlpack_versioned"))
# Functions that use addresses to compare and to read only, by module.
_READERS = {"torch": ("save",), "torch.serialization": ("save",),
            "safetensors.torch": ("save", "save_file", "save_model", "_tobytes")}
_BACKWARD = ("apply", "apply_boxed")  # the engine calls the second where gradients come as a list; new in 2.15
_COMPILED = "torch._inductor.output_code"  # whose objects run compiled regions
_PACKAGED = ("AOTIModelPackageLoader", "AOTIModelContainerRunnerCpu", "AOTIModelContainerRunnerCuda")
_INTERPOSER = torch._C._dispatch_key_parse("DeferredInit")  # its dispatch key
_MISSING = object()

# Functions of the runtime (recompute/recompute.h).
OF_STORAGES = ("pin", "expose", "lend", "take_back", "hold", "let_go", "tell_address", "begin_write", "end_write")
OF_THREADS = ("enter_opaque", "leave_opaque", "join", "expect_joins")


def _tensors(values: Iterable) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())


class Guards:
    """Placed once at a time. `runtime` has the functions named in OF_STORAGES, which take the address of a StorageImpl,
    and OF_THREADS: expect_joins takes whether every thread that may run ops will have joined, the others nothing; and
    part_bytes, which takes 1 for CUDA, else 0, and says how much an op on lists of tensors may need there (0: anything)."""

    def __init__(self, runtime):
        self._runtime = runtime
        self._exports = Exports(runtime)
        self._replaced: list[tuple[object, str, object]] = []
        self._waiting: list[AfterImport] = []

    def place(self) -> None:
        for owner, names in ((torch.Tensor, TENSOR), (torch.UntypedStorage, STORAGE), (torch._C, FUNCTIONS)):
            for name, does in names.items():
                self._wrap(owner, name, does)
        for name in HIDDEN:
            self._hide(torch.Tensor, name)
        for module, name in _DLPACK:
            self._wrap(module, name, "lends_alias")
        for module in _READERS:
            self._waiting.append(AfterImport(module, self._guard_readers))
        for owner, name in INTERPRETERS:
            if hasattr(owner, name):
                self._replace(owner, name, keeps_out_of_memory(getattr(owner, name)))
        # torch.save hands storages to its writer in C++.
        writer = torch._C.PyTorchFileWriter
        self._replace(writer, "write_record", self._around_writing(writer.write_record))
        self._replace(Function, "apply", classmethod(self._around_forward(vars(Function)["apply"])))
        for name in _BACKWARD:
            if hasattr(BackwardCFunction, name):
                self._replace(BackwardCFunction, name, self._around_backward(getattr(BackwardCFunction, name)))
        self._replace(BackwardCFunction, "saved_tensors", property(self._saved))
        for module in (_thread, threading):
            for name in ("start_new_thread", "_start_new_thread", "start_joinable_thread", "_start_joinable_thread"):
                if hasattr(module, name):
                    self._replace(module, name, self._around_start(getattr(module, name)))
        for kind in (getattr(torch._C._aoti, name) for name in _PACKAGED if hasattr(torch._C._aoti, name)):
            for name in ("run", "boxed_run"):
                if hasattr(kind, name):
                    self._replace(kind, name, self._around_packaged(getattr(kind, name)))
        for module, name in steps_on_lists():
            self._replace(module, name, in_parts(getattr(module, name), self._runtime.part_bytes))
        self._replace(torch._ops, "_compute_keyset", self._without_interposer(torch._ops._compute_keyset))
        self._waiting.append(AfterImport(_COMPILED, self._guard_compiled))
        # Threads that run already did not come by here.
        self._runtime.expect_joins(len(sys._current_frames()) == 1)

    def tell_loans(self) -> None:
        """The runtime sees ops by now."""
        loans.tell(self._runtime)

    def remove(self) -> None:
        loans.forget_runtime()
        self._runtime.expect_joins(False)
        for waiting in self._waiting:
            waiting.cancel()
        for owner, name, before in reversed(self._replaced):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._replaced.clear()

    def _replace(self, owner, name: str, by: object) -> None:
        self._replaced.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, by)

    def _hide(self, owner, name: str) -> None:
        if name in vars(owner):
            self._replaced.append((owner, name, vars(owner)[name]))
            delattr(owner, name)

    def _wrap(self, owner, name: str, does: str) -> None:
        method = getattr(owner, name, None)
        if method is not None:
            self._replace(owner, name, functools.wraps(method)(getattr(self._exports, does)(method)))

    def _guard_readers(self, module) -> None:
        for name in _READERS[module.__name__]:
            self._wrap(module, name, "only_reads")

    def _kept(self, values):
        for tensor in _tensors(values):
            address = address_of(tensor)
            if address is not None:
                self._runtime.pin(address)
        return values

    def _around_writing(self, write: Callable) -> Callable:
        held = self._exports.reads(lambda content, writer, name, *rest: write(writer, name, content, *rest))

        @functools.wraps(write)
        def guarded(writer, name, content, *rest):
            if isinstance(content, torch.UntypedStorage):
                return held(content, writer, name, *rest)
            return write(writer, name, content, *rest)
        return guarded

    def _guard_compiled(self, module) -> None:
        for kind in (module.CompiledFxGraph, module.CompiledAOTI):
            self._replace(kind, "__call__", self._around_compiled(kind.__call__))

    def _around_compiled(self, run: Callable) -> Callable:
        @functools.wraps(run)
        def guarded(region, inputs):
            self._kept(inputs)
            written = [inputs[index] for index in getattr(region, "mutated_input_idxs", ())]
            with self._unseen_writes(written):
                return run(region, inputs)
        return guarded

    def _around_packaged(self, run: Callable) -> Callable:
        """Programs that AOTInductor compiled and packaged: nobody says which inputs they write."""
        @functools.wraps(run)
        def guarded(program, *arguments, **named):
            self._kept((arguments, named))
            with self._unseen_writes(_tensors((arguments, named))):
                return run(program, *arguments, **named)
        return guarded

    @contextlib.contextmanager
    def _unseen_writes(self, tensors: Iterable):
        """The body, which no op announces, may write these; what ops in it make stays."""
        addresses = [address_of(one) for one in tensors if isinstance(one, torch.Tensor)]
        with contextlib.ExitStack() as after:
            for address in filter(None, addresses):
                self._runtime.begin_write(address)
                after.callback(self._runtime.end_write, address)
            self._runtime.enter_opaque()
            after.callback(self._runtime.leave_opaque)
            yield

    def _without_interposer(self, keys_of: Callable) -> Callable:
        """Higher-order operators (cond, flex_attention, …) look in Python for who handles the first key of a call, and know
        none for the interposer's. The ops that they call come by it."""
        @functools.wraps(keys_of)
        def guarded(arguments, named, known_keys):
            return keys_of(arguments, named, known_keys.remove(_INTERPOSER))
        return guarded

    def _around_start(self, start: Callable) -> Callable:
        @functools.wraps(start)
        def guarded(function, *rest, **named):
            @functools.wraps(function)
            def joined(*arguments, **keywords):
                self._runtime.join()
                return function(*arguments, **keywords)
            return start(joined, *rest, **named)
        return guarded

    @staticmethod
    def _only_calls_ops(node) -> bool:
        """In its backward pass; what it keeps for that is part of its code."""
        return only_calls_ops(node._forward_cls, vars(node).values())

    def _saved(self, node):
        values = torch._C._FunctionBase.saved_tensors.__get__(node)
        return values if self._only_calls_ops(node) else self._kept(values)

    def _around_forward(self, apply) -> Callable:
        """`apply`: a class method, of Python or (newer torches) of C."""
        def guarded(function, *arguments, **named):
            run = apply.__get__(None, function)
            if only_calls_ops(function, (*arguments, *named.values())):
                return run(*arguments, **named)
            self._kept((arguments, named))
            self._runtime.enter_opaque()
            try:
                return run(*arguments, **named)
            finally:
                self._runtime.leave_opaque()
        return functools.update_wrapper(guarded, apply)

    def _around_backward(self, apply: Callable) -> Callable:
        @functools.wraps(apply)
        def guarded(node, *gradients):
            if self._only_calls_ops(node):
                return apply(node, *gradients)
            self._kept(gradients)
            self._runtime.enter_opaque()
            try:
                return apply(node, *gradients)
            finally:
                self._runtime.leave_opaque()
        return guarded
