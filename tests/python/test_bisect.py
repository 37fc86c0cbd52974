"""`stowage bisect` names a planted wrong recipe, and a write that no op made; and says so where it cannot judge a job."""

import re
import subprocess

import pytest

from stowage import _bisect
from tests.python.doors import ROOT
from tests.python.test_cli import stowage

TRAIN = str(ROOT / "examples" / "wrong_bits" / "train.py")
PLANTED = ("--set", "fault=recipe:aten::softplus", "--set", "devices=cpu")
SOURCE = re.compile(r"source +.*train\.py:\d+ in forward: return torch\.nn\.functional\.softplus\(x, beta=2\.0\)")


def bisect(*arguments: str, **settings: str) -> subprocess.CompletedProcess:
    return stowage("bisect", *arguments, **settings)


def test_a_planted_recipe_in_a_job_of_20_layers_is_named():
    done = bisect(*PLANTED, "--", TRAIN)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "plain         10 steps" in done.stdout
    assert "found: a recipe that is replayed at once makes other bits, in result 0: 1 of 8192 elements" in done.stdout
    assert re.search(r"op +aten::softplus\n", done.stdout) and "beta = 2" in done.stdout and SOURCE.search(done.stdout)


WRITES_UNSEEN = """
import ctypes, torch
torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.randn(64, 64)
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for step in range(6):
    optimizer.zero_grad()
    scaled = x * 3.0
    y = layer(torch.sin(scaled))
    kept = torch.exp(y)
    storage = ctypes.cast(y.untyped_storage()._cdata, ctypes.POINTER(ctypes.c_void_p))
    if step == 4 and storage[2] < 2**47:
        ctypes.memset(storage[2], 0, 4)  # through a pointer that no guard sees
    (kept * kept).mean().backward()
    optimizer.step()
"""


def test_a_write_that_no_op_made_is_found_by_evictions(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(WRITES_UNSEEN)
    done = bisect("--set", "devices=cpu", "--", str(script))
    assert "each recipe replayed at once is right" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 3 and "op          aten::exp" in done.stdout, done.stdout + done.stderr
    assert "kept = torch.exp(y)" in done.stdout
    setting = re.search(r"found: STOWAGE_EVICT=forced:\d+:(\d+)-(\d+) makes: other bits in step 5 of 6", done.stdout)
    assert setting and setting[1] == setting[2], done.stdout  # one eviction
    assert f"eviction {setting[1]}, before op " in done.stdout and "a restored tensor of 16384 bytes" in done.stdout


def test_nothing_is_found_where_nothing_is_wrong(tmp_path):
    done = bisect("--seeds", "1", "--set", "devices=cpu", "--", TRAIN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing is wrong with these bits" in done.stdout and "found" not in done.stdout


@pytest.mark.parametrize(("job", "message"), [
    ("import torch", "no optimizer step was seen"),
    ("raise SystemExit('broken')", "the job ends with status 1 without Stowage"),
    ("import time, torch\np = torch.zeros(3, requires_grad=True)\np.grad = torch.full((3,), time.time() % 1)\n"
     "torch.optim.SGD([p], 1.0).step()", "without Stowage the job gives other bits in step 1"),
])
def test_a_job_that_cannot_be_judged_is_one_error(tmp_path, job, message):
    script = tmp_path / "job.py"
    script.write_text(job)
    done = bisect("--", str(script))
    assert done.returncode == 1 and message in done.stderr, done.stdout + done.stderr
    assert done.stderr.startswith("stowage bisect: error: ") and done.stderr.count("\n") == 1


class FakeJob:
    """Wrong bits need evictions 30 to 41 of 100."""

    plain = _bisect.Outcome(0, [_bisect._trail.Step("a", 0)], False, "", 1.0)

    def __init__(self):
        self.settings: list[dict[str, str]] = []

    def run(self, **settings: str) -> _bisect.Outcome:
        self.settings.append(settings)
        *_, numbers = settings["STOWAGE_EVICT"].split(":")
        first, last = (1, 100) if "-" not in numbers else map(int, numbers.split("-"))
        wrong = first <= 30 and last >= 41
        message = "stowage: eviction 30, before op 7\n  op aten::sin\nloss 1\n" if "STOWAGE_VERIFY" in settings else ""
        return _bisect.Outcome(0, [_bisect._trail.Step("b" if wrong else "a", 100)], wrong, message, 1.0)

    is_wrong, how = _bisect.Job.is_wrong, _bisect.Job.how


def test_bits_that_several_evictions_make_are_narrowed_to_the_first_and_the_last(capsys):
    job = FakeJob()
    found = _bisect._evict(job, seeds=3)
    assert found == ["STOWAGE_EVICT=forced:1:30-41 makes: other bits in step 1 of 1",
                     "eviction 30, before op 7\n  op aten::sin"]
    assert len(job.settings) < 20


@pytest.mark.parametrize("answer", [1, 2, 17, 99, 100])
def test_the_least_number_is_found(answer):
    asked = []
    assert _bisect.least(1, 100, lambda number: asked.append(number) or number >= answer) == answer
    assert len(asked) <= 7
