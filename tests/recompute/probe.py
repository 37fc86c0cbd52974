"""The probe library for Python tests. CTest names it in STOWAGE_RECOMPUTE_PROBE."""

import contextlib
import ctypes
import os

import torch

from stowage import _guards

library = ctypes.CDLL(os.environ["STOWAGE_RECOMPUTE_PROBE"])
library.probe_text.restype = ctypes.c_char_p
for _name in ("pin", "expose", "evict", "is_evicted"):
    getattr(library, f"probe_{_name}").argtypes = [ctypes.c_void_p]
library.probe_install.argtypes = [ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_ulonglong, ctypes.c_int]
library.probe_budget.argtypes = [ctypes.c_ulonglong]
library.probe_held.restype = library.probe_peak.restype = library.probe_choices.restype = ctypes.c_ulonglong

COUNTERS = ("ops", "recorded", "evictions", "restores", "replays", "ops_ns", "replay_ns", "search_ns", "evicted",
            "evicted_total", "rooms", "refusals")


def counters() -> dict[str, int]:
    values = (ctypes.c_ulonglong * len(COUNTERS))()
    library.probe_counters(values)
    return dict(zip(COUNTERS, values))


def storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def evict(tensor: torch.Tensor) -> bool:
    return bool(library.probe_evict(storage(tensor)))


def is_evicted(tensor: torch.Tensor) -> bool:
    return bool(library.probe_is_evicted(storage(tensor)))


@contextlib.contextmanager
def installed(every: int = 0, seed: int = 0, smallest: int = 1, poison: bool = True):
    """The runtime, with all guards, for the body; `every`: forced evictions every so many ops."""
    if library.probe_install(every, seed, smallest, int(poison)) != 0:
        raise RuntimeError(library.probe_text().decode())
    guards = _guards.Guards(pin=library.probe_pin, expose=library.probe_expose, enter=library.probe_enter_opaque,
                            leave=library.probe_leave_opaque, join=library.probe_join,
                            expect_joins=lambda all_join: library.probe_expect_joins(int(all_join)))
    guards.place()
    try:
        yield
    finally:
        guards.remove()
        library.probe_uninstall()


def data(*sizes):
    """An input: a random tensor from nothing has no recipe."""
    return torch.randn(*sizes)
