"""Ways to train: each steps, repeats itself bit by bit, and is what it says."""

import argparse

import pytest
import torch

from tests.zoo import harness, models, variants
from tests.zoo.fingerprint import fingerprint


def job_of(name: str, *words: str):
    parser = argparse.ArgumentParser()
    variants.add_arguments(parser)
    return variants.vary(models.build(name), parser.parse_args(words))


def trained(name: str, *words: str):
    job = job_of(name, *words)
    for iteration in range(4):
        job.step(iteration)
    return job


@pytest.mark.parametrize("words", [
    (), ("--precision", "bfloat16"), ("--precision", "pure-bfloat16"), ("--precision", "float16"), ("--attention", "math"),
    ("--fused",), ("--accumulate", "3"), ("--batch", "5"), ("--resident",), ("--adapters", "2"), ("--unsettled",)],
    ids=lambda words: "_".join(words) or "plain")
def test_a_variant_trains_and_repeats_itself(words):
    first, second = trained("gpt2_small", *words), trained("gpt2_small", *words)
    digests = first.digests(of=fingerprint)
    assert harness.differences(digests, second.digests(of=fingerprint)) == []
    changed = harness.differences(models.build("gpt2_small").digests(of=fingerprint), digests)
    assert any("/parameters/" in path for path in changed)
    assert all(loss == loss for loss in first.losses)


def test_channels_last_is_the_format_of_the_weights():
    job = trained("unet", "--channels-last")
    weights = [p for p in job.model.parameters() if p.dim() == 4]
    assert weights and all(p.is_contiguous(memory_format=torch.channels_last) for p in weights)


def test_a_batch_is_as_large_as_was_asked():
    assert [len(t) for t in job_of("resnet18", "--batch", "7").batches[1]] == [7, 7]
    assert [len(t) for t in job_of("resnet18", "--batch", "1").batches[0]] == [1, 1]


def test_adapters_are_all_that_is_trained():
    before, after = job_of("gpt2_small", "--adapters", "2"), trained("gpt2_small", "--adapters", "2")
    fixed = {name: p for name, p in before.model.named_parameters() if ".up." not in name and ".down." not in name}
    assert not any(p.requires_grad for p in fixed.values())
    assert all(torch.equal(p, dict(after.model.named_parameters())[name]) for name, p in fixed.items())
    assert any(p.abs().sum() > 0 for name, p in after.model.named_parameters() if name.endswith(".up.weight"))
    assert len(after.optimizer.param_groups[0]["params"]) == len(list(before.model.parameters())) - len(fixed)


def test_accumulation_takes_as_many_batches():
    job, seen = job_of("mlp", "--accumulate", "3"), []
    load = job.load
    job.load = lambda number: seen.append(number) or load(number)
    job.step(0), job.step(1)
    assert seen == list(range(6))


def test_a_fused_optimizer_keeps_its_settings():
    plain, fused = job_of("mlp"), job_of("mlp", "--fused")
    assert fused.optimizer.defaults["fused"] and type(fused.optimizer) is type(plain.optimizer)
    kept = {name: value for name, value in plain.optimizer.defaults.items() if name not in ("fused", "foreach")}
    assert kept.items() <= fused.optimizer.defaults.items()


def test_the_model_itself_is_bfloat16():
    assert {p.dtype for p in trained("llama_1b", "--precision", "pure-bfloat16").model.parameters()} == {torch.bfloat16}


def test_only_some_iterations_of_an_unsettled_job_are_alike(monkeypatch):
    job, sizes = job_of("mlp", "--unsettled"), []
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda size, **named: sizes.append(size) or empty(size, **named))
    for iteration in range(12):
        job.step(iteration)
    sizes = [size for size in sizes if isinstance(size, int)]
    alike = [a == b for a, b in zip(sizes, sizes[1:])]
    assert alike == ([True] + [False] * 5) * 1 + [True] + [False] * 4


def test_what_cannot_be_combined_is_refused():
    with pytest.raises(ValueError, match="trains in a way of its own"):
        job_of("gan", "--precision", "float16")
