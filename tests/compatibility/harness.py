"""What PyTorch's own allocator tests expect, as facts: small functions that raise where one does not hold.

A fact is written anew from what the named test of PyTorch's test suite checks. Each runs three times over: on PyTorch's
native allocator, while Stowage records, and with a plan. For the last, the fact itself is a job: it is repeated as an
iteration until its requests are planned, and must hold in every one of them.

    python tests/compatibility/harness.py MODE [FIRST]    # on the simulated device: one line of JSON for each fact
"""
import ctypes
import gc
import json
import os
import pathlib
import sys
import traceback
from dataclasses import dataclass
from typing import Callable

MODES = ("native", "recording", "planned")
MOST_ITERATIONS = 14


@dataclass
class Fact:
    name: str
    of: str                  # the test of PyTorch's
    check: Callable[[], None]
    sizes: bool = False      # it looks at sizes of segments, which are Stowage's own affair


FACTS: list[Fact] = []


def fact(of: str, sizes: bool = False):
    """Registers a function as what PyTorch's test `of` expects."""
    def add(check):
        FACTS.append(Fact(check.__name__, of, check, sizes))
        return check
    return add


def load() -> list[Fact]:
    if not FACTS:
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        import facts_errors, facts_history, facts_statistics, facts_streams, facts_pools  # noqa: F401, E401
        FACTS.extend(sys.modules["harness"].FACTS if __name__ == "__main__" else [])
    return FACTS


class Stowage:
    def __init__(self):
        self.lib = ctypes.CDLL(os.environ["TEST_LIBRARY"])
        for text in ("stowage_report", "stowage_last_error"):
            getattr(self.lib, text).restype = ctypes.c_char_p

    def enable(self):
        settings = "devices=cuda\nplan_wait_ms=5000"
        assert self.lib.stowage_enable(settings.encode()) == 0, self.lib.stowage_last_error()

    def disable(self):
        assert self.lib.stowage_disable() == 0, self.lib.stowage_last_error()

    def device(self):
        devices = [d for d in json.loads(self.lib.stowage_report())["devices"] if d["device"] == "cuda"]
        return devices[-1] if devices else {"state": "recording", "hits": 0}


def tidy():
    import torch
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()


def repeat_until_planned(stowage: Stowage, check) -> dict:
    more = 2
    for _ in range(MOST_ITERATIONS):
        tidy()
        check()
        stowage.lib.stowage_step()
        more -= stowage.device()["state"] == "planned"
        if more < 0:
            break
    return {"hits": stowage.device()["hits"]}


def run_one(mode: str, one: Fact) -> dict:
    if mode == "native":
        tidy()
        one.check()
        return {}
    stowage = Stowage()
    stowage.enable()
    try:
        if mode == "planned":
            return repeat_until_planned(stowage, one.check)
        tidy()
        one.check()
        return {}
    finally:
        gc.collect()
        stowage.disable()


def main(mode: str, first: int) -> None:
    import torch
    torch.zeros(1, device="cuda")
    for number, one in enumerate(load()[first:], first):
        line = {"number": number, "name": one.name}
        print(json.dumps(line | {"begins": True}), flush=True)
        try:
            line |= {"result": "pass"} | run_one(mode, one)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            line |= {"result": "fail", "why": f"{type(error).__name__}: {error} (line {where.lineno})"[:300]}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
