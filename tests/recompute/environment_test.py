"""An op runs again under the settings of torch that it ran under, and the job's own are as they were afterwards."""

from collections.abc import Callable

import pytest
import torch

from tests.recompute import probe
from tests.recompute.probe import data, evict

pytestmark = pytest.mark.usefixtures("runtime")

backends = torch.backends


def precision(backend: str, op: str) -> str:
    """As PyTorch resolves it: its own, or that of a more general setting."""
    return torch._C._get_fp32_precision_getter(backend, op)


def switches() -> dict:
    return {"mkldnn": backends.mkldnn.enabled, "type": torch.get_default_dtype(), "threads": torch.get_num_threads(),
            "deterministic": torch.are_deterministic_algorithms_enabled()}


def settings() -> dict:
    exact = {(backend, op): precision(backend, op) for backend in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn")}
    return switches() | exact | {"all": backends.fp32_precision}


def obeyed() -> dict:
    """What a product of matrices on the CPU hangs on; none at all is as exact as IEEE."""
    exact = precision("mkldnn", "matmul")
    return switches() | {"exactness": "ieee" if exact == "none" else exact}


@pytest.fixture
def torch_as_before():
    before = settings()
    yield
    backends.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    for backend in ("cuda", "mkldnn"):
        torch._C._set_fp32_precision_setter(backend, "matmul", "none")
    backends.mkldnn.enabled = True
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(1)
    assert settings() == before


@pytest.fixture
def seen():
    """What `mv` obeys, one call after the other: its kernel tells."""
    calls: list[dict] = []

    def kernel(matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        calls.append(obeyed())
        return (matrix * vector).sum(1)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("mv", kernel, "CPU", allow_override=True)
        yield calls


CHANGES: dict[str, Callable[[], None]] = {
    "exactness, the old way": lambda: torch.set_float32_matmul_precision("medium"),
    "exactness of one backend": lambda: setattr(backends.mkldnn.matmul, "fp32_precision", "bf16"),
    "exactness of all": lambda: setattr(backends, "fp32_precision", "tf32"),
    "no oneDNN": lambda: setattr(backends.mkldnn, "enabled", False),
    "default type": lambda: torch.set_default_dtype(torch.float64),
    "threads": lambda: torch.set_num_threads(2),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_value_is_made_again_as_it_was_made(change, seen, torch_as_before):
    matrix, vector = data(50, 60), data(60)
    early = matrix.mv(vector)
    change()
    late = matrix.mv(vector)
    assert len(seen) == 2 and seen[0] != seen[1]
    now = settings()
    for value, under in ((early, seen[0]), (late, seen[1]), (early, seen[0])):
        assert evict(value)
        value + 0
        assert seen[-1] == under and settings() == now
    assert len(seen) == 5


def test_what_is_inherited_stays_inherited(seen, torch_as_before):
    matrix, vector = data(50, 60), data(60)
    value = matrix.mv(vector)
    assert evict(value)
    backends.fp32_precision = "tf32"
    value + 0
    backends.fp32_precision = "ieee"
    assert precision("mkldnn", "matmul") == "ieee"


def test_a_result_of_the_default_type(torch_as_before):
    numbers = torch.arange(100) * 1
    torch.set_default_dtype(torch.float64)
    thirds = numbers / 3
    torch.set_default_dtype(torch.float32)
    before = thirds.clone()
    assert thirds.dtype == torch.float64 and evict(thirds)
    assert torch.equal(thirds, before)


def test_blocks_of_other_settings_end_no_recipe(torch_as_before):
    x = data(64, 64)
    y = x.exp()
    for _ in range(2):
        backends.mkldnn.enabled = False
        z = y @ x
        backends.mkldnn.enabled = True
    bits = y.clone(), z.clone()
    assert evict(y) and evict(z)
    assert torch.equal(z, bits[1]) and torch.equal(y, bits[0])
    assert probe.counters()["replays"] == 2
