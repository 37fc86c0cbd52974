"""The probe library for Python tests. CTest names it in STOWAGE_RECOMPUTE_PROBE."""

import contextlib
import ctypes
import os
import types

import torch

from stowage import _guards

library = ctypes.CDLL(os.environ["STOWAGE_RECOMPUTE_PROBE"])
library.probe_text.restype = library.probe_told.restype = ctypes.c_char_p
library.probe_spill.argtypes = [ctypes.c_char_p]
library.probe_note_limit.argtypes = [ctypes.c_ulonglong]
library.probe_part_bytes.restype = ctypes.c_ulonglong
for _name in (*_guards.OF_STORAGES, "evict", "offload", "is_evicted", "contiguous_room", "know"):
    getattr(library, f"probe_{_name}").argtypes = [ctypes.c_void_p]
_runtime = types.SimpleNamespace(**{name: getattr(library, f"probe_{name}")
                                    for name in (*_guards.OF_STORAGES, *_guards.OF_THREADS, "part_bytes")})
library.probe_install.argtypes = [ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_ulonglong, ctypes.c_int]
library.probe_debug.argtypes = [ctypes.c_uint, *[ctypes.c_ulonglong] * 3, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]
library.probe_draws.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
library.probe_switch.restype = ctypes.c_char_p
library.probe_float_control.restype = ctypes.c_uint
library.probe_budget.argtypes = [ctypes.c_ulonglong]
for _name in ("held", "peak", "choices", "gather_lasting"):
    getattr(library, f"probe_{_name}").restype = ctypes.c_ulonglong

COUNTERS = ("ops", "recorded", "evictions", "restores", "replays", "ops_ns", "replay_ns", "search_ns", "evicted",
            "evicted_total", "rooms", "refusals", "verified", "compared", "wrong", "choices", "offloads", "fetches",
            "offloaded", "offloaded_total", "copied_total", "encodings")


def counters() -> dict[str, int]:
    values = (ctypes.c_ulonglong * len(COUNTERS))()
    library.probe_counters(values)
    return dict(zip(COUNTERS, values))


def storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def evict(tensor: torch.Tensor) -> bool:
    return bool(library.probe_evict(storage(tensor)))


def offload(tensor: torch.Tensor) -> bool:
    return bool(library.probe_offload(storage(tensor)))


def make_contiguous_room(tensor: torch.Tensor) -> bool:
    """As an allocator asks that could serve a request from where the tensor lies."""
    return bool(library.probe_contiguous_room(storage(tensor)))


@contextlib.contextmanager
def spilling(folder):
    """What is offloaded goes to a file in this folder, for the body."""
    if library.probe_spill(str(folder).encode()):
        raise OSError(library.probe_text().decode())
    try:
        yield
    finally:
        library.probe_spill(None)


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


@contextlib.contextmanager
def limited(more: int):
    """CPU tensors may take `more` bytes above those that they have now, for the body; 0: any number. Gives a function: the
    most that they had above those since it was last asked."""
    base = library.probe_held()
    library.probe_peak(1)
    library.probe_budget(base + more if more else 0)
    try:
        yield lambda: library.probe_peak(1) - base
    finally:
        library.probe_budget(0)


@contextlib.contextmanager
def ops_under(limit: int):
    """Ops that need much memory at once go by `limit` bytes, for the body."""
    library.probe_note_limit(limit)
    try:
        yield
    finally:
        library.probe_note_limit(0)


def runs_within(work, more: int, limit: int) -> bool:
    """Whether `work` ends without an out-of-memory error where CPU tensors may take `more` bytes above those that they have
    now. Ops that need much memory at once go by `limit`."""
    try:
        with ops_under(limit), limited(more):
            work()
    except torch.OutOfMemoryError:
        return False
    return True


def most_held_by(work, times: int, limit: int) -> int:
    """Bytes, above those that CPU tensors have now, while `work` is done so often."""
    with ops_under(limit), limited(1 << 30) as most:
        for _ in range(times):
            work()
        return most()


def results_with_evictions(work, seeds: int, limit: int) -> list:
    """What `work` gives with something evicted before each op, once for each seed."""
    found = []
    for seed in range(seeds):
        with installed(every=1, seed=seed), ops_under(limit):
            found.append(work())
    return found


def is_evicted(tensor: torch.Tensor) -> bool:
    return bool(library.probe_is_evicted(storage(tensor)))


@contextlib.contextmanager
def installed(every: int = 0, seed: int = 0, smallest: int = 1, poison: bool = True):
    """The runtime, with all guards, for the body; `every`: forced evictions every so many ops."""
    with _guarded(library.probe_install(every, seed, smallest, int(poison))):
        yield


LAST = 2**64 - 1  # of all evictions


def debugged(every: int = 0, seed: int = 0, first: int = 1, last: int = LAST, tells=False, verify=False, wrong: str = ""):
    """The same for finding wrong bits: as STOWAGE_EVICT and STOWAGE_VERIFY do; told() gives what was found."""
    return _guarded(library.probe_debug(every, seed, first, last, int(tells), int(verify), wrong.encode()))


def told() -> str:
    return library.probe_told().decode()


@contextlib.contextmanager
def _guarded(status: int):
    if status != 0:
        raise RuntimeError(library.probe_text().decode())
    guards = _guards.Guards(_runtime)
    guards.place()
    guards.tell_loans()
    try:
        yield
    finally:
        guards.remove()
        library.probe_uninstall()


def data(*sizes):
    """An input: a random tensor from nothing has no recipe."""
    return torch.randn(*sizes)
