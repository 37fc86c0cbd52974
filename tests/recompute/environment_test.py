"""An op runs again under the settings of torch that it ran under, and the job's own are as they were afterwards."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

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
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "filled": torch.utils.deterministic.fill_uninitialized_memory,
            "mkldnn deterministic": backends.mkldnn.deterministic,
            "nnpack": torch._C._get_nnpack_enabled()}


def settings() -> dict:
    exact = {(backend, op): precision(backend, op) for backend in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn")}
    return switches() | exact | {"all": backends.fp32_precision}


def obeyed() -> dict:
    """What a product of matrices on the CPU hangs on; none at all is as exact as IEEE."""
    exact = precision("mkldnn", "matmul")
    return switches() | {"exactness": "ieee" if exact == "none" else exact, "float": probe.library.probe_float_control()}


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
    torch.set_flush_denormal(False)
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch._C._set_mkldnn_deterministic(False)
    torch._C._set_nnpack_enabled(True)
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
    "denormal numbers": lambda: torch.set_flush_denormal(True),
    "memory that is not filled": lambda: setattr(torch.utils.deterministic, "fill_uninitialized_memory", False),
    "oneDNN's own determinism": lambda: torch._C._set_mkldnn_deterministic(True),
    "no NNPACK": lambda: torch._C._set_nnpack_enabled(False),
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


def test_what_was_flushed_to_zero_is_flushed_again(torch_as_before):
    x = torch.full((1000,), 1e-20)
    torch.set_flush_denormal(True)
    flushed = x * 1e-20
    torch.set_flush_denormal(False)
    kept = x * 1e-20
    assert flushed.count_nonzero() == 0 and kept.count_nonzero() == 1000
    for value, nonzero in ((flushed, 0), (kept, 1000)):
        assert evict(value)
        assert value.count_nonzero() == nonzero
    assert evict(kept)
    torch.set_flush_denormal(True)
    assert torch.equal(kept.view(torch.int32), torch.full((1000,), int(kept.view(torch.int32)[0]), dtype=torch.int32))


def bits_of(value: torch.Tensor) -> torch.Tensor:
    return value.view(torch.int32).clone()


def test_each_thread_of_the_pool_rounds_as_it_did(torch_as_before):
    """The pool began before the calling thread changed its mode: part of a result is flushed, part is not."""
    torch.set_num_threads(2)
    x = torch.full((1 << 18,), 1e-20)
    (x + x).sum()  # the pool begins
    torch.set_flush_denormal(True)
    mixed = x * 1e-20
    bits = bits_of(mixed)
    torch.set_flush_denormal(False)
    some = bits.count_nonzero().item()
    assert 0 < some < bits.numel()
    for _ in range(2):
        assert evict(mixed)
        assert torch.equal(bits_of(mixed), bits)
    plain = x * 1e-20
    assert plain.count_nonzero() == plain.numel(), "the pool is as it was"


def test_a_thread_with_another_pool_rounds_as_the_first_did(torch_as_before):
    torch.set_num_threads(2)
    x = torch.full((1 << 18,), 1e-20)
    (x + x).sum()
    torch.set_flush_denormal(True)
    mixed = x * 1e-20
    bits = bits_of(mixed)
    torch.set_flush_denormal(False)
    assert evict(mixed)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(bits_of(mixed)))
    thread.start()
    thread.join()
    assert torch.equal(seen[0], bits)


# What at::Context can be told besides what is in recompute/settings/switches.cc, and why it is not there.
ELSEWHERE = {
    "setFlushDenormal": "float_mode.h: of the calling thread and its pool",
    "setFloat32MatmulPrecision": "environment.h: the precision of what an op obeys",
    "setFloat32Precision": "environment.h",
    "setAllowTF32CuDNN": "environment.h: another way to say the precision",
    "setAllowTF32OneDNN": "environment.h",
    "setAllowTF32CuBLAS": "environment.h",
    "setImmediateMiopen": "ROCm only, which Stowage does not serve",
    "setROCmFAPreferredBackend": "ROCm only",
    "setQEngine": "quantised tensors are never evicted",
    "setReleaseWeightsWhenPrepacking": "of quantised layers: what is freed, not what is computed",
    "setCheckSparseTensorInvariants": "checks only",
    "setDisplayVmapFallbackWarnings": "warnings only",
    "setWarnOnAccumulateGradStreamMismatch": "warnings only",
    "setOverrideStaleCaptureStream": "while a graph is captured, under which nothing is away",
    "setDefaultMobileCPUAllocator": "where memory comes from, not what is in it",
    "unsetDefaultMobileCPUAllocator": "the same",
}


def setters() -> set[str]:
    header = Path(torch.__file__).parent / "include/ATen/Context.h"
    text = re.sub(r"//[^\n]*", "", header.read_text())
    return set(re.findall(r"\b(?:void|bool)\s+(_?(?:un)?set[A-Z]\w*)\s*\(", text))


def test_every_setting_of_torch_is_decided():
    """A setter that a newer torch adds needs a line in recompute/settings/switches.cc, or above a reason why not."""
    names = iter(lambda: probe.library.probe_switch(len(under)), None)
    under: list[str] = []
    for name in names:
        under.append(name.decode())
    found = setters()
    assert len(found) > 30
    assert found - set(under) - set(ELSEWHERE) == set()
    assert not set(under) & set(ELSEWHERE)
