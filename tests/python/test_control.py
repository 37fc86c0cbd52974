"""The package's functions and the entry point, each in a process of its own, on PyTorch's CPU allocator."""

import json

import pytest

from tests.python.doors import JOB, digest, python

ENABLE = "import stowage; stowage.enable(devices='cpu', plan_wait_ms=60000)\n"


@pytest.fixture(scope="module")
def plain():
    return digest(python(JOB))


def test_enabled_job_is_planned_and_bit_equal(plain):
    done = python(ENABLE + JOB + "print(json.dumps(stowage.report()))".replace("json", "__import__('json')"))
    assert digest(done) == plain
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["state"] == "planned"
    assert report["last_iteration_misses"] == 0
    assert report["plans"][0]["height_bytes"] == report["plans"][0]["lower_bound_bytes"]
    assert done.stderr == ""


def test_disabled_in_the_middle_and_enabled_again_is_bit_equal(plain):
    program = ENABLE + JOB.replace("    loss.backward()\n", "    loss.backward()\n"
                                   "    if i == 7: stowage.disable()\n"
                                   "    if i == 8: stowage.enable(devices='cpu', plan_wait_ms=60000)\n")
    assert digest(python(program)) == plain


def test_report_is_a_table_for_people():
    done = python(ENABLE + JOB + "print(stowage.report())")
    assert done.returncode == 0, done.stderr
    for word in ("state", "peak live", "reserved", "fragmentation", "lower bound", "missed"):
        assert word in done.stdout


@pytest.mark.parametrize("call, named", [
    ("stowage.enable(nothing=1)", "nothing"),
    ("stowage.enable(max_plans=0)", "STOWAGE_MAX_PLANS"),
    ("stowage.enable(trace='a\\nb')", "line break"),
    ("stowage.save_trace('/nonexistent/x')", "nothing was recorded"),
])
def test_misuse_is_one_clear_error(call, named):
    done = python(f"import stowage\ntry:\n    {call}\nexcept stowage.StowageError as e: print(e)\nelse: print('none')")
    assert done.returncode == 0, done.stderr
    assert named in done.stdout
    assert done.stderr == ""


def test_trace_can_be_saved(tmp_path):
    path = tmp_path / "job.stowtrace"
    done = python(ENABLE + JOB + f"stowage.save_trace({str(path)!r})")
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size > 1000


def test_importing_the_package_imports_no_torch():
    done = python("import stowage, sys; print('torch' in sys.modules)", warm=False)
    assert done.stdout == "False\n", done.stderr


def autoloaded(program: str, **settings: str):
    """What torch does at import, whether or not the package is installed in this environment."""
    return python("import torch\nfrom stowage._autoload import autoload; autoload()\n" + program, **settings)


def test_entry_point_does_nothing_unless_asked(plain):
    done = autoloaded(JOB + "import sys; print([m for m in sys.modules if m.startswith('stowage')])")
    assert digest(done) == plain
    assert "stowage._control" in done.stdout
    assert "libstowage.so" not in autoloaded("print(open('/proc/self/maps').read())").stdout


@pytest.mark.parametrize("settings, named", [
    ({"STOWAGE": "yes"}, "STOWAGE is"),
    ({"STOWAGE": "1", "STOWAGE_MAX_PLANS": "many"}, "STOWAGE_MAX_PLANS"),
    ({"STOWAGE": "1", "STOWAGE_NO_SUCH": "1"}, "no setting STOWAGE_NO_SUCH"),
])
def test_entry_point_never_raises(plain, settings, named):
    done = autoloaded(JOB, **settings)
    assert digest(done) == plain
    assert len(done.stderr.splitlines()) == 1 and named in done.stderr


def test_an_unknown_variable_does_not_end_stowage():
    done = autoloaded(JOB + "import stowage; print(stowage.report()['state'])", STOWAGE="1", STOWAGE_DEVICES="cpu",
                      STOWAGE_PLAN_WAIT_MS="60000", STOWAGE_BUGDET="1GiB")
    assert done.stdout.splitlines()[-1] == "planned", done.stderr
    assert done.stderr == ("stowage: warning: there is no setting STOWAGE_BUGDET, so it is ignored; "
                           "did you mean STOWAGE_BUDGET?\n")


@pytest.mark.parametrize("fault", ["planner", "thread", "arena"])
def test_each_failure_inside_is_one_warning(plain, fault):
    done = autoloaded(JOB, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_FAULT=fault, STOWAGE_PLAN_WAIT_MS="60000")
    assert digest(done) == plain
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_unreadable_cache_is_one_warning(plain, tmp_path):
    settings = {"STOWAGE": "1", "STOWAGE_DEVICES": "cpu", "STOWAGE_PLAN_WAIT_MS": "60000",
                "STOWAGE_PLAN_CACHE": str(tmp_path / "plans")}
    assert autoloaded(JOB, **settings).stderr == ""
    for file in (tmp_path / "plans").iterdir():
        file.write_bytes(b"nothing of ours")
    done = autoloaded(JOB, **settings)
    assert digest(done) == plain
    assert len(done.stderr.splitlines()) == 1 and ".stowplan" in done.stderr


def test_another_torch_is_refused_clearly():
    done = python("from stowage import _library\n"
                  "_library.built_for = lambda: {'version': '0', 'torch': '1.0.0'}\n"
                  "import stowage\ntry: stowage.enable()\nexcept stowage.StowageError as e: print(e)")
    assert "built for torch 1.0.0" in done.stdout, done.stderr


def test_forked_children_and_data_loader_workers_go_on():
    done = python(ENABLE + JOB + """
import os
from torch.utils.data import DataLoader
kept = torch.ones(1000)
child = os.fork()
if child == 0:
    value = (model(torch.randn(4, 32)).sum() + kept.sum()).item()
    os._exit(0 if value == value else 1)
assert os.waitpid(child, 0)[1] == 0
batches = [batch for batch in DataLoader([torch.ones(8) * i for i in range(8)], batch_size=2, num_workers=2)]
assert [int(batch[0, 0]) for batch in batches] == [0, 2, 4, 6]
""")
    assert done.returncode == 0, done.stderr


def test_report_and_trace_at_exit(tmp_path):
    done = autoloaded(JOB, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_REPORT=str(tmp_path / "report.json"),
                      STOWAGE_TRACE=str(tmp_path / "trace"), STOWAGE_PLAN_WAIT_MS="60000")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["state"] == "planned"
    assert (tmp_path / "trace").stat().st_size > 1000


def test_user_marks_plan_a_job_without_an_optimizer():
    done = python(ENABLE + """
import torch
for i in range(8):
    a = torch.ones(10000) + 1
    b = a * 2
    del a, b
    stowage.step()
print(stowage.report()["state"])
""")
    assert done.stdout == "planned\n", done.stderr


HOOKED = "import torch.autograd.profiler as p; print(hasattr(p._prepare_profiler, '__wrapped__'))"


@pytest.mark.parametrize("program, settings, hooked", [
    (ENABLE + HOOKED, {}, "True"), ("import torch\n" + HOOKED, {"STOWAGE": "1"}, "True"),
    ("import torch, stowage\n" + HOOKED, {}, "False")])
def test_torchs_profiler_says_before_it_begins_where_stowage_is_used(program, settings, hooked):
    """Its profiles themselves are tested in tests/plugin/cuda/cupti_test.py."""
    done = python(program, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == hooked
