"""Schedules, their follower and an exact allocator, in the probe library."""

import ctypes
import re

from tests.recompute.probe import library

library.planned_text.restype = ctypes.c_char_p
library.ledger_limit.argtypes = [ctypes.c_ulonglong]
library.ledger_held.restype = library.ledger_peak.restype = ctypes.c_ulonglong
library.planned_make.argtypes = [ctypes.c_ulonglong, ctypes.c_ulonglong, ctypes.c_int, ctypes.c_void_p]
library.planned_spoil.argtypes = [ctypes.c_ulonglong]


class Unplannable(Exception):
    """Says what budget would do in `least`."""

    def __init__(self, text: str):
        super().__init__(text)
        found = re.search(r"\((\d+) bytes\)", text)
        self.least = int(found.group(1)) if found else None


def _numbers(count: int):
    return (ctypes.c_ulonglong * count)()


def _check(code: int) -> None:
    if code != 0:
        raise Unplannable(library.planned_text().decode())


def take_log() -> dict[str, int]:
    values = _numbers(4)
    _check(library.planned_take_log(values))
    return dict(zip(("ops", "buffers", "peak", "may_go"), values))


def make(budget: int, smallest: int = 0, placed: bool = True) -> dict[str, int]:
    values = _numbers(7)
    _check(library.planned_make(budget, smallest, int(placed), values))
    return dict(zip(("actions", "replays", "replay_ns", "peak", "height", "copies", "early"), values))


def follow() -> None:
    _check(library.planned_follow())


def counts() -> dict[str, int]:
    values = _numbers(5)
    library.planned_counts(values)
    return dict(zip(("iterations", "resynced", "left", "evictions", "refused"), values))
