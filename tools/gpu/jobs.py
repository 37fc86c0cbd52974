"""Workers (tools/gpu/worker.py) in processes of their own: once() runs one to its end, Talk keeps one for measuring in turn.

Every job's output goes to a log in the run's folder; a job that fails raises JobFailed with it. No process outlives its
step: each has a session of its own, which is killed as a whole.
"""

import json
import os
import pathlib
import queue
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tests.warm import client
from tests.zoo import harness
from tools.gpu.suite import OutOfTime, Run
from tools.gpu.worker import MARK

WORKER = "tools/gpu/worker.py"
PLAIN = "plain"
ENTRY = "entry_point"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
# For a second try of a job that crashed. Reading lines by addr2line would take minutes.
TALKATIVE = {"CUDA_LAUNCH_BLOCKING": "1", "STOWAGE_VERBOSE": "1", "TORCH_SHOW_CPP_STACKTRACES": "1",
             "TORCH_DISABLE_ADDR2LINE": "1"}
AT_ONCE = 4  # jobs side by side where nothing is timed


class JobFailed(Exception):
    """What was run, how it ended, and the end of its output."""


@dataclass(frozen=True)
class Spec:
    """A worker: its model, its options, the door that it comes through and what the environment adds. `quick`: the plan may
    come late, as in a user's run; otherwise the iteration that asks for it waits."""

    model: str
    options: tuple[str, ...] = ()
    door: str = PLAIN
    extra: tuple[tuple[str, str], ...] = ()
    waits: bool = True
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or f"{self.model} {self.door}"

    def words(self) -> list[str]:
        return [WORKER, "--model", self.model, *self.options]


def spec(model: str, *options: object, door: str = PLAIN, extra: dict[str, str] | None = None, waits: bool = True,
         label: str = "") -> Spec:
    return Spec(model, tuple(map(str, options)), door, tuple((extra or {}).items()), waits, label)


def log_path(run: Run, name: str) -> pathlib.Path:
    folder = run.folder / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / (re.sub(r"[^\w.-]+", "_", name) + ".log")


def environment(run: Run, wanted: Spec) -> dict[str, str]:
    made = harness.environment(wanted.door, run.device, log_path(run, wanted.name).with_suffix(".report.json"),
                               dict(wanted.extra))
    if not wanted.waits:
        made.pop("STOWAGE_PLAN_WAIT_MS", None)
    return made


def answers_in(text: str) -> list[dict]:
    return [json.loads(line.removeprefix(MARK)) for line in text.splitlines() if line.startswith(MARK)]


def kill(process: subprocess.Popen) -> None:
    """It and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_to_its_end(words: list[str], settings: dict[str, str], timeout_s: float) -> subprocess.CompletedProcess:
    """subprocess.run, but with everything that the job started killed at the end of its time."""
    process = subprocess.Popen(words, env=settings, cwd=harness.ROOT, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill(process)
        raise subprocess.TimeoutExpired(words, timeout_s, process.communicate()[0]) from None
    except BaseException:
        kill(process)
        raise
    return subprocess.CompletedProcess(words, process.returncode, output)


def program(run: Run, name: str, words: list[str], settings: dict[str, str], warm: bool = False) -> str:
    """What any program printed. `warm`: in a fork of a process that has imported torch. Raises JobFailed, OutOfTime."""
    allowed = run.left_s()
    if allowed <= 1:
        raise OutOfTime(f"{name} was not begun")
    log = log_path(run, name)
    try:
        if warm:
            done = client.run(*words[1:], environment=settings, merged=True, timeout_s=allowed)
        else:
            done = run_to_its_end(words, settings, allowed)
    except subprocess.TimeoutExpired as error:
        log.write_text(error.output or "")
        raise OutOfTime(f"{name} was still running; its output ends with:\n{(error.output or '')[-3000:]}") from None
    log.write_text(done.stdout)
    if done.returncode != 0:
        raise JobFailed(f"{name} ended with {ending(done.returncode)}: {shlex.join(words)}\n{done.stdout}")
    return done.stdout


def ending(status: int) -> str:
    """An exit status in words."""
    return str(status) if status >= 0 else f"signal {signal.Signals(-status).name}"


def once(run: Run, wanted: Spec, commands: list[list]) -> list[dict]:
    """A worker's answers to `commands`, without the first one that says that it is built. A job out of memory has fewer, of
    which the last says so."""
    words = harness.command(wanted.door, [*wanted.words(), "--do", json.dumps(commands)])
    warm = run.simulated and wanted.door in harness.WARM
    return answers_in(program(run, wanted.name, words, environment(run, wanted), warm))[1:]


def attempt(run: Run, wanted: Spec, commands: list[list], failed: Callable[[str, str], None]) -> list[dict] | None:
    """once(), or None where the job failed, which is told to `failed`. A job that crashed is run once more, with launches
    that block, so that the output names the op."""
    try:
        return once(run, wanted, commands)
    except JobFailed as error:
        output = str(error)
    if not run.simulated and any(word in output for word in ("signal SIG", "CUDA error", "device-side assert")):
        try:
            once(run, replace(wanted, extra=(*wanted.extra, *TALKATIVE.items()), label=f"{wanted.name} again"), commands)
            output += "\n[with CUDA_LAUNCH_BLOCKING=1 it ended well]"
        except JobFailed as error:
            output = f"{output[-2500:]}\n[again with CUDA_LAUNCH_BLOCKING=1]\n{str(error)[-3000:]}"
        except OutOfTime:
            output += "\n[no time to run it again with CUDA_LAUNCH_BLOCKING=1]"
    failed(wanted.name, output)
    return None


def side_by_side(run: Run, jobs: Iterable[Callable[[], object]], at_once: int = AT_ONCE) -> list:
    """What the jobs return, in order; where time ran out for one of them that is raised when all have ended."""
    with ThreadPoolExecutor(2 if run.simulated else max(at_once, 1)) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


@dataclass
class Talk:
    """A worker that is asked one command at a time. To be closed; a step uses it in a `with` block."""

    run: Run
    spec: Spec
    error: str = ""  # why it is of no use any more
    _lines: queue.Queue = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        words = harness.command(self.spec.door, self.spec.words())
        self._log = open(log_path(self.run, self.spec.name), "w+")
        self.process = subprocess.Popen(words, env=environment(self.run, self.spec), cwd=harness.ROOT, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                                        start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            if line.startswith(MARK):
                self._lines.put(json.loads(line.removeprefix(MARK)))
            elif line.strip():
                self._log.write(line)
        self._lines.put(None)

    def output(self) -> str:
        self._log.flush()
        return pathlib.Path(self._log.name).read_text()

    def receive(self) -> dict:
        try:
            found = self._lines.get(timeout=max(self.run.left_s(), 0.1))
        except queue.Empty:
            raise OutOfTime(f"{self.spec.name} did not answer; its output ends with:\n{self.output()[-3000:]}") from None
        if found is None:
            status = ending(self.process.wait())
            raise JobFailed(f"{self.spec.name} ended with {status}: {shlex.join(self.spec.words())}\n{self.output()}")
        if told := found.get("out_of_memory"):
            self.error = f"out of memory: {told}"
        return found

    def ask(self, *command: object) -> dict:
        """The answer. Raises JobFailed, also where the job has ended for want of memory."""
        if self.error:
            raise JobFailed(f"{self.spec.name}: {self.error}")
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it is gone; what it said is told by receive()
        return self.receive()

    def close(self) -> None:
        """Lets it end by itself, a moment long, unless it hangs."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=min(20.0, max(self.run.left_s(), 0.5)))
        except (OSError, subprocess.TimeoutExpired):
            pass
        kill(self.process)
        self._reader.join(timeout=5)
        self._log.close()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_) -> None:
        self.close()
