"""Every op that PyTorch tests, in every way of calling it (kinds.py), through record, evict and restore: the bits of plain.

A seeded choice of the op database; STOWAGE_FUZZ_OPS=all runs all of it (20 minutes of one processor). STOWAGE_FUZZ_SEED
sets the seed, STOWAGE_FUZZ_SAMPLES how many samples of each of two types are tried (1). A failure names op, way and sample.

Each op runs in a child, as some of these calls crash in PyTorch itself.
"""

import faulthandler
import json
import os
import random
import sys
import types
import unittest
import warnings

import pytest
import torch
from torch.utils._pytree import tree_map_only

from tests.recompute import probe
from tests.recompute.kinds import WAYS, Unsuitable, parts_of, repeatable, tensors_in
from tests.recompute.op_database import op_db

ALL = os.environ.get("STOWAGE_FUZZ_OPS") == "all"
SEED = int(os.environ.get("STOWAGE_FUZZ_SEED", "0"))
SAMPLES = int(os.environ.get("STOWAGE_FUZZ_SAMPLES", "1"))
CHOSEN = 24
TYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)
BYTES = 1 << 20  # larger samples are left out
compared: list[int] = []  # by op: how many calls


def samples_of(op, dtype: torch.dtype) -> list:
    if dtype not in op.supported_dtypes("cpu"):
        return []
    torch.manual_seed(SEED)
    samples = list(op.sample_inputs("cpu", dtype))
    small = [one for one in samples if sum(t.nbytes for t in tensors_in((one.input, one.args, one.kwargs))
                                           if t.layout == torch.strided) < BYTES]
    return random.Random(SEED).sample(small, min(len(small), SAMPLES))


def variants_of(op):
    yield "", op.op
    if op.inplace_variant is not None:
        yield " in place", op.inplace_variant


def run(way: str, function, sample) -> list[torch.Tensor]:
    """All tensors that come of a call, whose arguments can be evicted, and the arguments, which it may have written."""
    def fresh(tensor):
        return tensor.detach().clone() if tensor.layout == torch.strided and not tensor.is_nested else tensor.detach()
    args, named = tree_map_only(torch.Tensor, fresh, ((sample.input, *sample.args), sample.kwargs))
    torch.manual_seed(SEED)
    results = WAYS[way](function, args, named)
    return tensors_in((results, args, named))


def bits(tensors: list[torch.Tensor]) -> list:
    parts = [part.detach().resolve_conj().resolve_neg().contiguous() for one in tensors for part in parts_of(one)]
    return [(part.dtype, tuple(part.shape), part.reshape(-1).view(torch.uint8).numpy().tobytes() if part.numel() else b"")
            for part in parts]


def plain(way: str, function, sample) -> list | None:
    """The bits; None where the call is not possible this way, or never the same."""
    try:
        first = bits(run(way, function, sample))
        return first if first == bits(run(way, function, sample)) else None
    except (Unsuitable, Exception):
        return None


def under_evictions(way: str, function, sample) -> list:
    with probe.installed(every=1, seed=SEED):
        made = run(way, function, sample)
        for part in [part for one in made for part in parts_of(one)]:
            if part.layout == torch.strided:
                probe.evict(part.detach())
    return bits(made)


def calls(op):
    """All calls of an op that are tried: what it is, way, function, sample."""
    for dtype in random.Random(f"{SEED} {op.name}").sample(TYPES, 2):
        for number, sample in enumerate(samples_of(op, dtype)):
            for variant, function in variants_of(op):
                for way in WAYS:
                    yield f"{op.formatted_name}{variant}, {way}, {dtype}, sample {number}: {sample}", way, function, sample


def try_calls(op, first: int, say) -> None:
    """Says of each call from the `first` on: that it is tried plainly, that it is compared, what was wrong."""
    for number, (what, *call) in enumerate(calls(op)):
        if number < first:
            continue
        say("plain", number, "")
        wanted = plain(*call)
        if wanted is None:
            continue
        say("compared", number, what)
        try:
            if under_evictions(*call) != wanted:
                say("wrong", number, f"other bits: {what}")
        except Exception as error:
            say("wrong", number, f"{type(error).__name__}: {error}: {what}")


def in_child(op, first: int) -> tuple[list, int]:
    """What a child says, which may crash, and how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe, warnings.catch_warnings(), repeatable():
            warnings.simplefilter("ignore")
            faulthandler.disable()
            try_calls(op, first, lambda *what: print(json.dumps(what), file=pipe, flush=True))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = [json.loads(line) for line in pipe]
    return said, os.waitpid(child, 0)[1]


def problems(op) -> tuple[int, list[str]]:
    """How many calls were compared, and what was wrong. A call that crashes plainly is PyTorch's own affair."""
    compared, wrong, first = 0, [], 0
    while True:
        said, ended = in_child(op, first)
        compared += sum(kind == "compared" for kind, _, _ in said)
        wrong += [text for kind, _, text in said if kind == "wrong"]
        if ended == 0:
            return compared, wrong
        kind, number, text = said[-1] if said else ("compared", first, op.formatted_name)
        if kind == "compared":
            wrong.append(f"crash ({ended}): {text}")
        first = number + 1


def chosen() -> list:
    return list(op_db) if ALL else random.Random(SEED).sample(list(op_db), CHOSEN)


@pytest.mark.parametrize("op", chosen(), ids=lambda op: op.formatted_name)
def test_same_bits(op):
    count, wrong = problems(op)
    compared.append(count)
    assert wrong == []


def test_enough_was_compared():
    assert sum(compared) >= 5 * len(compared)
