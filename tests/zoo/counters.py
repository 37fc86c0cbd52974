"""What the simulated device has counted (simulator/device/counters.h), read from within the process that runs on it."""

import ctypes

FIELDS = ("launches", "copies", "mallocs", "frees", "vmm_calls", "synchronizations", "out_of_memory", "misuses",
          "used_bytes", "peak_bytes", "host_ns", "device_ns", "host_allocations", "not_ready")


class _Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in FIELDS]


def read() -> dict[str, int] | None:
    """All counts so far, or None where the device is not the simulated one."""
    function = getattr(ctypes.CDLL(None), "stowage_sim_counters", None)
    if function is None:
        return None
    counts = _Counters()
    function(ctypes.byref(counts))
    return {name: getattr(counts, name) for name in FIELDS}


def memory_calls() -> int | None:
    """Calls so far that took memory from the device or gave some back, or None where nobody counts them."""
    counts = read()
    return None if counts is None else counts["mallocs"] + counts["frees"] + counts["vmm_calls"]
