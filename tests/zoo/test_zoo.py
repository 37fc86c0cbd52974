"""The zoo and its harness: jobs step, repeat themselves bit by bit, and a difference of one bit is seen."""

import pytest
import torch

from tests.zoo import harness, models
from tests.zoo.habits import HABITS
from tests.zoo.job import digest, digest_all


@pytest.mark.parametrize("name", models.names())
def test_every_job_steps_and_changes_its_parameters(name):
    job = models.build(name)
    before = job.digests()
    job.step(0)
    changed = harness.differences(before, job.digests())
    assert any("/parameters/" in path for path in changed)
    assert all(loss == loss and abs(loss) < 1e6 for loss in job.losses)


@pytest.mark.parametrize("name", ["mlp", "gan", "vit_b"])
def test_the_same_job_twice_is_equal_bit_by_bit(name):
    digests = []
    for _ in range(2):
        job = models.build(name)
        for iteration in range(3):
            job.step(iteration)
        digests.append(job.digests())
    assert not harness.differences(*digests)


@pytest.mark.parametrize("habit", list(HABITS))
def test_habits_repeat_themselves(habit):
    digests = []
    for _ in range(2):
        job = models.build("mlp")
        step = HABITS[habit](job)
        for iteration in range(16):
            step(iteration)
        digests.append(job.digests())
    assert not harness.differences(*digests)


def test_one_bit_is_a_difference():
    a = torch.zeros(100)
    b = a.clone()
    b.view(torch.int32)[50] ^= 1
    assert digest(a) != digest(b)


def test_type_and_shape_are_part_of_a_digest():
    a = torch.zeros(4)
    assert digest(a) != digest(a.view(2, 2))
    assert digest(a) != digest(a.view(torch.int32))


def test_every_kind_of_value_is_compared():
    found: dict[str, str] = {}
    digest_all({"a": [torch.zeros(1), 0.5], "b": {"c": None}}, "state", found)
    assert set(found) == {"state/a/0", "state/a/1", "state/b/c"}


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="names: "):
        models.build("resnet51")


def test_plain_runs_in_two_processes_are_equal_bit_by_bit():
    again = harness.run_model("resnet18", "plain")
    assert not harness.differences(harness.plain_model("resnet18").digests, again.digests)
    assert not again.report


def test_a_plain_job_never_imports_stowage():
    for script in ["tests/zoo/run_job.py", "tests/zoo/job.py", "tests/zoo/models.py", "tests/zoo/habits.py",
                   "examples/char_gpt.py", "examples/digits_resnet18.py"]:
        assert "import stowage" not in (harness.ROOT / script).read_text(), script
