"""Runs Python programs as subprocess.run() would, in forks of processes that have imported torch already.

    done = run("-m", "tests.budget.job", "10", "lstm", environment=…)      # python -m tests.budget.job 10 lstm

Importing torch is most of what a short job costs. A program sees no difference but one: torch and MODULES are imported
when it begins, and Stowage's entry point has been called, which `import torch` does. What tests the way in (LD_PRELOAD of
Stowage, the launcher, what `import` itself does) is run by subprocess. STOWAGE_COLD_TESTS=1 runs everything so.

A server is started for each environment, settings of Stowage aside, and lives until this process ends. Thread safety: any
thread may call run().
"""

import array
import atexit
import functools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What jobs import sooner or later; a first optimizer step imports torch._dynamo.
MODULES = ("numpy", "torch._dynamo", "torch.utils.data", "torchvision.models")
MOST_SERVERS = 6
# What Triton of torch 2.15 says at the exit of any process that imported it, with Stowage or without.
TRITON_LEAKS = re.compile(r"^nanobind: leaked .*?refleaks\.html\n*", re.DOTALL | re.MULTILINE)
COLD = os.environ.get("STOWAGE_COLD_TESTS", "0") != "0"


def is_own(name: str) -> bool:
    """True for what a program reads itself, and Stowage and the simulated device in it when they are first used. Other
    variables may matter to libraries while they are loaded."""
    return name.startswith(("STOWAGE", "PYTEST_")) or name in ("PYTHONPATH", "TEST_LIBRARY", "TORCH_DEVICE_BACKEND_AUTOLOAD")


class Server:
    """Raises RuntimeError where the server does not come up, or has threads: then no fork of it would be whole."""

    def __init__(self, environment: dict[str, str]):
        self._lock = threading.Lock()
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = f"from tests.warm import server; server.serve({theirs.fileno()}, {list(MODULES)})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program], pass_fds=[theirs.fileno()], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, env=environment | {"PYTHONPATH": str(ROOT), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
        theirs.close()
        threads = self._connection.recv(64).decode()
        if threads != "1":
            self.stop()
            raise RuntimeError(f"the warm process has {threads or 'no'} threads; OMP_NUM_THREADS must be 1")

    def ask(self, request: dict, streams: list[int]) -> socket.socket:
        """The socket on which the program's process id and exit status will be told."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        rights = array.array("i", [*streams, theirs.fileno()])
        with self._lock, theirs:
            self._connection.sendmsg([json.dumps(request).encode()],
                                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        return ours

    def stop(self) -> None:
        self._connection.close()
        self._process.wait()


class Servers:
    """By environment, the one that was asked last at the end."""

    def __init__(self):
        self._lock = threading.Lock()
        self._servers: dict[tuple, Server] = {}

    def of(self, environment: dict[str, str]) -> Server:
        wanted = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        wanted |= {name: value for name, value in environment.items() if not is_own(name)}
        key = tuple(sorted(wanted.items()))
        with self._lock:
            server = self._servers.pop(key, None) or Server(wanted)
            self._servers[key] = server
            while len(self._servers) > MOST_SERVERS:
                self._servers.pop(next(iter(self._servers))).stop()
            return server

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()


@functools.cache
def servers() -> Servers:
    made = Servers()
    atexit.register(made.stop)
    return made


def status_of(told: socket.socket, words: tuple[str, ...], timeout_s: float) -> int:
    with told:
        child = int(told.recv(64))
        told.settimeout(timeout_s)
        try:
            return int(told.recv(64))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            told.settimeout(None)
            told.recv(64)  # it is gone
            raise subprocess.TimeoutExpired(words, timeout_s) from None


def run(*words: str, environment: dict[str, str], folder: pathlib.Path = ROOT, merged: bool = False,
        timeout_s: float = 600, modules: Sequence[str] = ()) -> subprocess.CompletedProcess:
    """`python WORDS…` to its end. `merged`: standard error goes to standard output, in the order of writing. `modules`:
    what the program will import besides MODULES, for this and later programs of the same environment.

    Raises subprocess.TimeoutExpired, and has ended the program then.
    """
    if COLD:
        return subprocess.run([sys.executable, *words], env=environment, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                              timeout=timeout_s)
    request = {"words": words, "environment": environment, "folder": str(folder), "modules": list(modules)}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors, open(os.devnull) as nothing:
        streams = [file.fileno() for file in (nothing, output, output if merged else errors)]
        status = status_of(servers().of(environment).ask(request, streams), words, timeout_s)
        output.seek(0), errors.seek(0)
        return subprocess.CompletedProcess([sys.executable, *words], status, TRITON_LEAKS.sub("", output.read()),
                                           None if merged else TRITON_LEAKS.sub("", errors.read()))
