"""Optimizer steps on lists of tensors, a part of the parameters at a time.

A foreach optimizer runs one op after the other on the lists of all parameters, gradients and states, and keeps further lists
between them. Under a limit all of that passes through memory once for each op. What is done to the i-th tensors depends on
these alone, so the same ops on a few of them after the other leave the same bits, and each tensor passes once.
"""

import functools
import importlib
import pkgutil
import types
from collections.abc import Callable, Iterator

import torch
import torch.optim

_PREFIX = "_multi_tensor_"  # of PyTorch's functions for this
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}  # by number of dimensions


def steps_on_lists() -> Iterator[tuple[types.ModuleType, str]]:
    """The module and name of each such function of the installed torch."""
    for found in pkgutil.iter_modules(torch.optim.__path__, "torch.optim."):
        if found.ispkg:
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if name.startswith(_PREFIX) and getattr(value, "__module__", None) == module.__name__:
                yield module, name


def in_parts(step: Callable, part_bytes: Callable[[int], int]) -> Callable:
    """`step`, in parts that need `part_bytes(1)` at most on CUDA, `part_bytes(0)` elsewhere; 0: as it is."""
    @functools.wraps(step)
    def guarded(parameters, *others, **named):
        if torch.compiler.is_compiling() or len(parameters) < 2:
            return step(parameters, *others, **named)
        most = part_bytes(int(parameters[0].is_cuda))
        lists = [one for one in (parameters, *others, *named.values()) if _is_along(one, parameters)]
        ends = _ends(lists, most) if most > 0 else []
        if len(ends) < 2:
            return step(parameters, *others, **named)
        for begin, end in zip([0, *ends], ends, strict=False):
            _run_part(step, slice(begin, end), lists, (parameters, *others), named)
        return None
    return guarded


def _run_part(step: Callable, part: slice, lists: list[list], arguments: tuple, named: dict) -> None:
    """With these entries of the lists. What the step puts into its lists is in the whole ones afterwards."""
    parts = {id(one): one[part] for one in lists}
    try:
        step(*(parts.get(id(one), one) for one in arguments),
             **{name: parts.get(id(one), one) for name, one in named.items()})
    finally:
        for one in lists:
            one[part] = parts[id(one)]


def _is_along(value, parameters: list) -> bool:
    return isinstance(value, list) and len(value) == len(parameters) and all(
        one is None or isinstance(one, torch.Tensor) for one in value)


def _ends(lists: list[list], most: int) -> list[int]:
    """Where parts end. Room is left for one list more, which the step makes."""
    if 2 * (len(lists) + 1) * sum(one.nbytes for one in lists[0]) <= most:  # states may be of a wider type
        return []
    ends, bytes_so_far = [], 0
    for index, tensors in enumerate(zip(*lists, strict=True)):
        if not _get_one_sort_of_kernel(tensors):
            return []
        more = tensors[0].nbytes + sum(one.nbytes for one in tensors if one is not None)
        if bytes_so_far > 0 and bytes_so_far + more > most:
            ends.append(index)
            bytes_so_far = 0
        bytes_so_far += more
    return [*ends, len(lists[0])]


def _get_one_sort_of_kernel(tensors: tuple) -> bool:
    """PyTorch chooses between two sorts of kernels by all tensors of a call (ForeachUtils.h): no part may get another sort
    than the whole. On the CPU there is one."""
    first = tensors[0]
    if any(one is not None and one.layout != torch.strided for one in tensors):
        return False
    if first.is_cpu:
        return True
    return _is_dense(first) and all(
        one is None or one.dim() == 0
        or (one.dtype == first.dtype and one.device == first.device and one.shape == first.shape
            and one.stride() == first.stride())
        for one in tensors[1:])


def _is_dense(tensor: torch.Tensor) -> bool:
    channels_last = _FORMATS.get(tensor.dim())
    return tensor.is_contiguous() or (channels_last is not None and tensor.is_contiguous(memory_format=channels_last))
