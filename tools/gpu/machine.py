"""The machine that figures are of: device, driver, versions, clocks, and who else uses the device."""

import os
import pathlib
import platform
import shutil
import subprocess

QUERY = ("name", "uuid", "driver_version", "pci.bus_id", "memory.total", "memory.used", "pstate", "power.draw",
         "power.limit", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks_throttle_reasons.active", "temperature.gpu",
         "persistence_mode", "compute_mode", "mig.mode.current", "utilization.gpu")
MIB = 1 << 20


def nvidia_smi(*words: str) -> str:
    """What it prints, or "" where it is not there or fails."""
    try:
        done = subprocess.run(["nvidia-smi", *words], text=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def query(*names: str) -> dict[str, str]:
    """Of the first device. A driver that does not know one of the names is asked for each alone."""
    line = nvidia_smi(f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "--id=0")
    values = [value.strip() for value in line.splitlines()[0].split(",")] if line else []
    if len(values) == len(names):
        return dict(zip(names, values))
    return {} if len(names) == 1 else {key: value for name in names for key, value in query(name).items()}


def used_bytes() -> int | None:
    """Of the device's memory, by all processes, as the driver counts; None where nobody tells."""
    try:
        return int(query("memory.used")["memory.used"]) * MIB
    except (KeyError, ValueError):
        return None


def free_bytes() -> int | None:
    """Of the device's memory, as the driver counts; None where nobody tells."""
    try:
        found = query("memory.total", "memory.used")
        return (int(found["memory.total"]) - int(found["memory.used"])) * MIB
    except (KeyError, ValueError):
        return None


def others() -> list[str]:
    """Processes on the device that nvidia-smi shows, such as may disturb a measurement. In a container it may show none."""
    shown = nvidia_smi("--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader")
    own = str(os.getpid())
    return [line for line in shown.splitlines() if line.strip() and line.split(",")[0].strip() != own]


def state_now() -> dict[str, str]:
    """What a timing depends on, and may change between two steps."""
    return query("pstate", "power.draw", "clocks.sm", "clocks.mem", "temperature.gpu", "clocks_throttle_reasons.active")


def processor() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def compute_sanitizer() -> str | None:
    found = shutil.which("compute-sanitizer")
    beside = [*sorted(pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer")),
              *sorted(pathlib.Path("/opt").glob("*/bin/compute-sanitizer"))]
    return found or (str(beside[-1]) if beside else None)


def describe() -> dict:
    """All of it, with the names of the JSON file."""
    return {"gpu": query(*QUERY), "others_on_the_gpu": others(), "processor": processor(),
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory_gib(), 1), "kernel": platform.release(),
            "python": platform.python_version(), "compute_sanitizer": compute_sanitizer()}
