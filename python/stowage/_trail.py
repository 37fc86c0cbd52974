"""The bits of a training job, step by step, for `stowage bisect`: a digest after each optimizer step, in a file.

The variable _STOWAGE_TRAIL asks for it, in jobs with and without Stowage alike: it is read when torch is imported. A step's
digest covers parameters, gradients, optimizer state and the CPU's random state; what it reads is copied first, by PyTorch's
ops, so that nothing of the job's own is pinned.
"""

import ctypes
import dataclasses
import hashlib
import os
import pathlib
from collections.abc import Iterable, Iterator

VARIABLE = "_STOWAGE_TRAIL"
DIFFERENT = "different"  # a trail's last line, where the job was ended since its bits differ


@dataclasses.dataclass
class Step:
    digest: str
    choices: int  # of forced evictions so far

    def __str__(self) -> str:
        return f"{self.digest} {self.choices}"


def read(path: pathlib.Path) -> tuple[list[Step], bool]:
    """The steps of a trail, and whether the job was ended since they differ from its reference."""
    lines = path.read_text().splitlines() if path.exists() else []
    steps = [line.split() for line in lines if line != DIFFERENT]
    return [Step(digest, int(choices)) for digest, choices in steps], DIFFERENT in lines


def _plain(value) -> Iterator["torch.Tensor"]:
    """The tensors in what an optimizer holds; of a distributed one this process's part."""
    import torch
    if isinstance(value, dict):
        for one in value.values():
            yield from _plain(one)
    elif isinstance(value, torch.Tensor):
        yield getattr(value, "_local_tensor", value)


def _tensors(optimizer) -> Iterator["torch.Tensor"]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            yield from _plain(parameter)
            yield from _plain(parameter.grad)
            yield from _plain(optimizer.state.get(parameter, {}))


def digest(tensors: Iterable["torch.Tensor"]) -> str:
    import torch
    found = hashlib.blake2b(digest_size=16)
    with torch.no_grad():
        for tensor in tensors:
            bytes_of = tensor.detach().to("cpu", copy=True).contiguous().reshape(-1).view(torch.uint8)
            found.update(bytes_of.numpy().data)
        found.update(torch.get_rng_state().numpy().data)
    return found.hexdigest()


class _Trail:
    def __init__(self, path: pathlib.Path, reference: list[Step]):
        self._file, self._reference, self._number = path.open("w", buffering=1), reference, 0

    def add(self, optimizer, *_) -> None:
        step = Step(digest(_tensors(optimizer)), _choices())
        print(step, file=self._file)
        if self._reference and (self._number >= len(self._reference) or
                                self._reference[self._number].digest != step.digest):
            print(DIFFERENT, file=self._file, flush=True)
            os._exit(1)  # whatever else the job would do tells nothing more
        self._number += 1


def _choices() -> int:
    """0 where Stowage is not loaded."""
    from stowage import _library
    if not _library.load.cache_info().currsize:
        return 0
    function = _library.load().stowage_forced_choices
    function.restype = ctypes.c_ulonglong
    return function()


def begin_if_asked() -> None:
    """The variable: who asks (a process's number, so that children of the job leave none), the file, the reference."""
    asked = os.environ.get(VARIABLE, "").split(os.pathsep)
    if len(asked) != 3 or os.getppid() != int(asked[0]):
        return
    from torch.optim.optimizer import register_optimizer_step_post_hook
    reference, _ = read(pathlib.Path(asked[2])) if asked[2] else ([], False)
    register_optimizer_step_post_hook(_Trail(pathlib.Path(asked[1]), reference).add)
