"""How memory leaves PyTorch behind the dispatcher's back, and what is kept of a tensor for how long.

reads    looks at the bytes while the call lasts: the tensor is there meanwhile.
writes   changes them while the call lasts: what was computed from them before comes back first, or keeps a copy.
lends    gives out an object through which anybody may write: as long as that lives nothing is evicted that is
         computed from the tensor.
tells    gives out an address as a number, mostly to compare it or to use it at once: the tensor stays, and each use of
         its bytes checks that no unseen code has written them (recompute/storage/raw_writes.h). Not so where
         PyTorch and others only tell tensors apart by it (COMPARING of _raw_access.py): all that torch.save writes need not
         be there at once.
exposes  hands the memory on for good.

Methods are about the tensor or storage that they are called on; writes_from also reads the other tensors that it is given.
Functions (reads_all, exposes_all) are about all among their arguments.
"""

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterable

import torch

from stowage._raw_access import COMPARING

_reading = threading.local()


def address_of(tensor: torch.Tensor) -> int | None:
    """Of the StorageImpl; None for tensors without one."""
    if isinstance(tensor, torch.UntypedStorage):
        return tensor._cdata
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def addresses_in(values: Iterable) -> Iterable[int]:
    """Of all tensors and storages in `values`, and in lists, tuples and dictionaries there."""
    for value in values:
        if isinstance(value, (torch.Tensor, torch.UntypedStorage)):
            address = address_of(value)
            if address is not None:
                yield address
        elif isinstance(value, (list, tuple)):
            yield from addresses_in(value)
        elif isinstance(value, dict):
            yield from addresses_in(value.values())


def _only_compares(caller) -> bool:
    """`caller`: a frame."""
    return caller.f_code.co_name in COMPARING.get(caller.f_globals.get("__name__"), ())


def _instead_of_address(this: torch.Tensor | torch.UntypedStorage, storage: int) -> int:
    """As different from those of others as the address of its bytes is; 0: it has none. `storage`: the StorageImpl's."""
    if isinstance(this, torch.UntypedStorage):
        return storage if this.nbytes() > 0 else 0
    return storage + this.storage_offset() * this.element_size() if this.numel() > 0 else 0


class Loans:
    """Objects that give access to tensors' memory, while they live. There is one for the process: loans outlive guards."""

    def __init__(self):
        self._alive: dict[int, tuple[weakref.ref, int]] = {}
        self._runtime = None

    def tell(self, runtime) -> None:
        """From now on `runtime`, which sees ops by now, hears of loans; first of those that there are. Once is enough."""
        if self._runtime is not None:
            return
        self._runtime = runtime
        for _, address in list(self._alive.values()):
            runtime.lend(address)

    def forget_runtime(self) -> None:
        self._runtime = None

    def end_with(self, carrier: object, address: int) -> None:
        """A loan that was made ends when `carrier` dies, which keeps the memory alive."""
        key = id(carrier)

        def end(_):
            self._alive.pop(key, None)
            if self._runtime is not None:
                self._runtime.take_back(address)
        self._alive[key] = (weakref.ref(carrier, end), address)


loans = Loans()


class Exports:
    """Wrappers for methods of tensors and storages, by what these do. `runtime`: see Guards."""

    def __init__(self, runtime):
        self._runtime = runtime

    def reads(self, method: Callable) -> Callable:
        return lambda this, *rest, **named: self._during(self._runtime.hold, self._runtime.let_go, this, method, rest, named)

    def writes(self, method: Callable) -> Callable:
        return lambda this, *rest, **named: self._during(self._runtime.begin_write, self._runtime.end_write, this, method,
                                                         rest, named)

    @staticmethod
    def _during(begin: Callable, end: Callable, this, method: Callable, rest: tuple, named: dict):
        address = address_of(this)
        if address is None:
            return method(this, *rest, **named)
        begin(address)
        try:
            return method(this, *rest, **named)
        finally:
            end(address)

    def writes_from(self, method: Callable) -> Callable:
        writing = self.writes(method)

        def guarded(this, *others, **named):
            with self._held((others, named)):
                return writing(this, *others, **named)
        return guarded

    def reads_all(self, function: Callable) -> Callable:
        def reading(*arguments, **named):
            with self._held((arguments, named)):
                return function(*arguments, **named)
        return reading

    def exposes_all(self, function: Callable) -> Callable:
        def exposing(*arguments, **named):
            for address in addresses_in((arguments, named)):
                self._runtime.expose(address)
            return function(*arguments, **named)
        return exposing

    @contextlib.contextmanager
    def _held(self, values):
        with contextlib.ExitStack() as after:
            for address in addresses_in(values):
                self._runtime.hold(address)
                after.callback(self._runtime.let_go, address)
            yield

    def lends(self, method: Callable) -> Callable:
        """What the method returns holds the memory."""
        return lambda this, *rest, **named: self._lend(this, lambda: method(this, *rest, **named), None)

    def lends_alias(self, method: Callable) -> Callable:
        """What the method returns keeps the tensor alive unseen: it gets another one of the same memory."""
        def lending(this, *rest, **named):
            if not isinstance(this, torch.Tensor) or this.requires_grad:
                return method(this, *rest, **named)  # refused by PyTorch, with its own words
            alias = this.detach()
            return self._lend(this, lambda: method(alias, *rest, **named), alias)
        return lending

    def _lend(self, this, give: Callable, carrier):
        address = address_of(this)
        if address is None:
            return give()
        self._runtime.lend(address)
        try:
            given = give()
            loans.end_with(given if carrier is None else carrier, address)
        except BaseException:
            self._runtime.take_back(address)
            raise
        return given

    def tells(self, method: Callable) -> Callable:
        def telling(this, *rest, **named):
            address = address_of(this)
            held = getattr(_reading, "held", None)
            if address is not None and _only_compares(sys._getframe(1)):
                return _instead_of_address(this, address)
            if address is not None and held is None:
                self._runtime.tell_address(address)
            elif address is not None:
                self._runtime.hold(address)
                held.append(address)
            return method(this, *rest, **named)
        return telling

    def exposes(self, method: Callable) -> Callable:
        def exposing(this, *rest, **named):
            address = address_of(this)
            if address is not None:
                self._runtime.expose(address)
            return method(this, *rest, **named)
        return exposing

    def gets_item(self, method: Callable) -> Callable:
        """Of a storage: a number is read, a slice is another storage of the same memory."""
        exposing, reading = self.exposes(method), self.reads(method)
        return lambda this, at: exposing(this, at) if isinstance(at, slice) else reading(this, at)

    def only_reads(self, function: Callable) -> Callable:
        """Addresses that are told inside of it serve to compare and to read, until it returns."""
        def reading(*arguments, **named):
            if getattr(_reading, "held", None) is not None:
                return function(*arguments, **named)
            _reading.held = held = []
            try:
                return function(*arguments, **named)
            finally:
                _reading.held = None
                for address in held:
                    self._runtime.let_go(address)
        return reading
