"""A process forks while threads of it run ops and recompute: the child runs ops, and evicted tensors come back there."""

import os
import signal
import threading
import time

import pytest
import torch

from tests.recompute import probe
from tests.recompute.probe import data, evict

pytestmark = pytest.mark.usefixtures("runtime")


def in_child(work) -> int:
    """Exit status of a child that runs it; -1 if it hangs."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(not work()))
        finally:
            os._exit(9)
    for _ in range(6000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


class Busy:
    """A thread that makes and evicts and reads, until the end of the block."""

    def __enter__(self):
        self.over = False
        self.rounds = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        while self.rounds == 0:
            time.sleep(0.001)

    def run(self):
        while not self.over:
            x = data(300, 300)
            y = x.exp().sin()
            evict(y)
            (y + 1).sum()
            self.rounds += 1

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


def test_a_child_runs_ops_while_another_thread_of_its_parent_does():
    with Busy():
        for _ in range(30):
            assert in_child(lambda: torch.ones(64).sin().sum().item() > 0) == 0


def test_evicted_tensors_come_back_in_the_child_and_in_the_parent():
    x = data(64, 64)
    y = x.exp()
    bits = y.clone()
    with Busy():
        for _ in range(10):
            assert evict(y)
            assert in_child(lambda: torch.equal(y, bits)) == 0
            assert probe.is_evicted(y)
            assert torch.equal(y, bits)


def test_a_child_starts_threads_and_forks_again():
    def grandchild():
        thread = threading.Thread(target=lambda: torch.ones(8).sum())
        thread.start()
        thread.join()
        return in_child(lambda: torch.ones(64).sum().item() == 64) == 0
    with Busy():
        assert in_child(grandchild) == 0


def test_a_thread_inside_the_runtime_may_wait_for_the_interpreter_that_the_fork_holds():
    """A kernel in Python, run again under the runtime's lock."""
    inside, calls = threading.Event(), []

    def kernel(matrix, vector):
        calls.append(None)
        if len(calls) > 1:
            inside.set()
            time.sleep(0.2)  # gives the interpreter away, and wants it back
        return (matrix * vector).sum(1)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("mv", kernel, "CPU", allow_override=True)
        matrix, vector = data(50, 60), data(60)
        y = matrix.mv(vector)
        assert evict(y)
        thread = threading.Thread(target=lambda: y + 0)
        thread.start()
        assert inside.wait(20)
        assert in_child(lambda: torch.ones(64).sum().item() == 64) == 0
        thread.join()


def test_a_child_uses_its_own_number_of_threads():
    """The pool of the parent is not there."""
    torch.set_num_threads(2)
    try:
        x = data(1 << 16)
        y = x.exp()
        assert torch.isfinite(y + y).all()  # the pool begins
        assert evict(y)

        def read():
            torch.set_num_threads(1)
            return torch.isfinite(y).all().item()
        assert in_child(read) == 0
    finally:
        torch.set_num_threads(1)
