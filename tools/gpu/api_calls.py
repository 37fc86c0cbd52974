"""Calls of CUDA's runtime and driver that take or give back device memory, counted while a function runs.

Two witnesses, for each can miss what the other sees. Kineto (torch.profiler) records runtime calls, but of the driver's
only launches. A CUPTI callback, subscribed to these calls alone, sees both interfaces, but only where nobody else is
subscribed; use it before Kineto, which keeps the subscription. What a witness counts means something only if it also saw
the control, a deliberate allocation.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Callable

import torch

from tests.zoo import counters
from tools.gpu import kineto

# By name, without the version that CUPTI appends.
MEMORY = re.compile(r"cuda(Malloc|Free|MallocAsync|FreeAsync|MallocManaged|MallocPitch|Malloc3D|MallocFromPoolAsync)"
                    r"(?=_v\d|_ptsz|$)|cuMem(Alloc|Free|Create|Release|Map|Unmap|SetAccess|Address(Reserve|Free))(?!Host)")
DRIVER, RUNTIME = 1, 2  # callback domains
MOST_CALLBACKS = 1000
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_int))


def name_of(full: str) -> str:
    """cudaMalloc_v3020 and cuMemFree_v2 without the version."""
    return re.sub(r"_v\d+.*$|_ptsz$", "", full)


def cupti() -> ctypes.CDLL:
    """The copy that torch has loaded; on the simulated device its stand-in. Raises OSError where there is none."""
    simulated = counters.read() is not None
    return ctypes.CDLL(None if simulated else f"libcupti.so.{torch.version.cuda.split('.')[0]}")


def raw_allocation() -> None:
    """cudaMalloc and cudaFree of the runtime that torch uses, past every allocator."""
    try:
        runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
    except OSError:
        runtime = ctypes.CDLL(None)
    address = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0:
        runtime.cudaFree(address)


def control() -> None:
    """Calls that a witness must see: one by the runtime, and whatever PyTorch's allocator does for memory it has not."""
    raw_allocation()
    torch.cuda.empty_cache()
    torch.empty(333 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()


def by_kineto(work: Callable[[], None]) -> dict[str, int]:
    """Counts by name."""
    names = [event["name"] for event in kineto.events(work) if event.get("cat") in ("cuda_runtime", "cuda_driver")]
    return dict(Counter(name_of(name) for name in names if MEMORY.match(name)))


class Subscriber:
    """CUPTI's callbacks for MEMORY, in a `with` block. Raises RuntimeError with CUPTI's answer where it refuses."""

    def __init__(self):
        self.seen: Counter[str] = Counter()
        self._cupti = cupti()
        self._handle, self._names = ctypes.c_void_p(), {}
        self._callback = CALLBACK(self._called)

    def _called(self, _data, domain: int, number: int, site) -> None:
        if site[0] == 0:  # the call begins
            self.seen[self._names[domain, number]] += 1

    def _call(self, function: str, *arguments) -> None:
        if status := getattr(self._cupti, function)(*arguments):
            raise RuntimeError(f"{function} answered {status}")

    def _find(self, domain: int) -> None:
        text = ctypes.c_char_p()
        for number in range(1, MOST_CALLBACKS):
            if self._cupti.cuptiGetCallbackName(domain, ctypes.c_uint32(number), ctypes.byref(text)):
                continue
            name = (text.value or b"").decode()
            if MEMORY.match(name):
                self._names[domain, number] = name_of(name)

    def __enter__(self):
        self._call("cuptiSubscribe", ctypes.byref(self._handle), self._callback, None)
        self._find(DRIVER)
        self._find(RUNTIME)
        for domain, number in self._names:
            self._call("cuptiEnableCallback", ctypes.c_uint32(1), self._handle, domain, ctypes.c_uint32(number))
        return self

    def __exit__(self, *_):
        self._call("cuptiUnsubscribe", self._handle)


def by_subscriber(work: Callable[[], None]) -> dict[str, int]:
    with Subscriber() as subscriber:
        work()
        torch.cuda.synchronize()
    return dict(subscriber.seen)


def watched(work: Callable[[], None]) -> dict:
    """By witness: `calls` while work() ran, and `control`, those of control(); or `refused`, why it saw nothing.

    The control gives cached memory back, so work() runs unwatched first: it must be steady when it is watched."""
    found = {}
    for name, witness in (("CUPTI callbacks", by_subscriber), ("Kineto", by_kineto)):
        work()
        try:
            found[name] = {"calls": witness(work), "control": witness(control)}
        except (OSError, AttributeError, RuntimeError, ValueError) as error:
            found[name] = {"refused": str(error)[:300]}
    return found


def cupti_version() -> int | None:
    """To be asked once a device is in use: some releases fail before."""
    number = ctypes.c_uint32()
    try:
        return None if cupti().cuptiGetVersion(ctypes.byref(number)) else number.value
    except (OSError, AttributeError):
        return None
