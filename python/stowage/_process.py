"""What Python knows of this process's place in a job, for the names of its report and trace.

session/settings/process_name.h says what the names are. The library knows the launchers'
variables itself. Python adds the rank of torch.distributed, the children of multiprocessing, and the processes that
only load data for another one.
"""

import os
import sys

HELPER = None


def _module(name: str):
    """Only what is loaded already is asked: at exit nothing is imported for it."""
    return sys.modules.get(name)


def _rank() -> str:
    distributed = _module("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return ""
    return f"rank{distributed.get_rank()}" if distributed.get_world_size() > 1 else ""


def _is_data_loader_worker() -> bool:
    workers = _module("torch.utils.data._utils.worker")
    return workers is not None and workers.get_worker_info() is not None


def _is_child() -> bool:
    multiprocessing = _module("multiprocessing.process")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def name() -> str | None:
    """"rank3" or "pid1234"; "" for a process that needs no name or has it by its environment; HELPER for one that writes
    nothing."""
    if _is_data_loader_worker():
        return HELPER
    if rank := _rank():
        return rank
    return f"pid{os.getpid()}" if _is_child() and "RANK" not in os.environ else ""
