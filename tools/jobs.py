"""Training jobs in processes of their own, side by side, with what they print and what each held of the machine."""

import os
import re
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.zoo import harness


class Failure(Exception):
    """What could not be shown, and why."""


@dataclass
class Job:
    """One process. `resident_bytes`: the most memory of the machine that it held, as the kernel counted."""

    label: str
    command: list[str]
    environment: dict[str, str]
    iteration: int = 0  # the last one that it printed
    resident_bytes: int = 0
    status: int = -1
    output: list[str] = field(default_factory=list)

    def run(self, tell: Callable[[], None]) -> None:
        """Runs the process to its end; calls `tell` when it prints that an iteration ended."""
        process = subprocess.Popen(self.command, cwd=harness.ROOT, env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in process.stdout:
            self.output.append(line)
            if match := re.match(r"iteration +(\d+)", line):
                self.iteration = int(match[1])
                tell()
        _, status, usage = os.wait4(process.pid, 0)
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        self.resident_bytes = usage.ru_maxrss * 1024  # Linux counts in KiB


def run_together(jobs: list[Job], tell: Callable[[], None]) -> None:
    """Runs `jobs` at the same time, so that what else the machine does slows all alike. Raises Failure."""
    threads = [threading.Thread(target=job.run, args=(tell,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for job in jobs:
        if job.status != 0:
            raise Failure(f"{job.label}: the job ended with {job.status}:\n{''.join(job.output[-20:])}")


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
