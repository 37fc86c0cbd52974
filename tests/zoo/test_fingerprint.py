"""A fingerprint differs where one bit, the type or the shape does, and is that of the bytes alone."""

import pytest
import torch

from tests.zoo import fingerprint as module
from tests.zoo import models
from tests.zoo.fingerprint import fingerprint


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64, torch.uint8, torch.int64, torch.bool])
@pytest.mark.parametrize("length", [0, 1, 3, 8, 1001])
def test_equal_bytes_are_equal(kind, length):
    tensor = torch.randint(0, 2, (length,)).to(kind)
    assert fingerprint(tensor) == fingerprint(tensor.clone())
    assert fingerprint(tensor) == fingerprint(torch.stack([tensor, tensor], dim=1)[:, 1])


@pytest.mark.parametrize("place", [0, 1, 511, 1000])
def test_one_bit_is_a_difference(place):
    tensor = torch.randn(1001)
    for bit in (0, 15, 31):
        other = tensor.clone()
        other.view(torch.int32)[place] ^= -(1 << 31) if bit == 31 else 1 << bit
        assert fingerprint(tensor) != fingerprint(other)


def test_order_is_a_difference_also_across_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 16)
    tensor = torch.arange(100)
    for a, b in ((0, 1), (15, 16), (3, 99)):
        other = tensor.clone()
        other[a], other[b] = tensor[b], tensor[a]
        assert fingerprint(tensor) != fingerprint(other)
    assert fingerprint(tensor) == fingerprint(tensor.clone())


def test_chunks_do_not_matter(monkeypatch):
    tensor = torch.randn(333)
    whole = fingerprint(tensor)
    monkeypatch.setattr(module, "CHUNK", 10)
    assert fingerprint(tensor) == whole


def test_type_and_shape_are_part_of_it():
    zeros = torch.zeros(4)
    assert len({fingerprint(t) for t in (zeros, zeros.view(2, 2), zeros.view(torch.int32), torch.zeros(5))}) == 4


def test_views_off_a_words_beginning():
    tensor = torch.arange(20, dtype=torch.uint8)
    assert fingerprint(tensor[3:19]) == fingerprint(tensor[3:19].clone())


def test_signed_zero_and_nan_are_their_bits():
    assert fingerprint(torch.tensor([0.0])) != fingerprint(torch.tensor([-0.0]))
    assert fingerprint(torch.tensor([float("nan")])) == fingerprint(torch.tensor([float("nan")]))


def test_of_a_job():
    job = models.build("mlp")
    before = job.digests(of=fingerprint)
    job.step(0)
    after = job.digests(of=fingerprint)
    assert before.keys() <= after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert {name for name in before if "/parameters/" in name} <= changed
