"""Notebooks: cells that run again, are interrupted, disable and enable Stowage, or load the package anew."""

import json

import pytest

from tests.python.doors import python

# What a kernel does: every cell in the same namespace; an exception ends the cell, not the kernel.
KERNEL = """
import json, signal, sys, traceback
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell started the tests in the background
namespace = {}
for cell in json.loads(sys.argv[1]):
    try:
        exec(cell, namespace)
    except BaseException as error:
        print("cell ended by", type(error).__name__)
        if not isinstance(error, KeyboardInterrupt):
            traceback.print_exc()
"""
MODEL = """
import torch, stowage
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
"""
TRAIN = """
def step():
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()
losses = [step() for _ in range(8)]
"""
INTERRUPTED = """
import os, signal
handle = model[1].register_forward_hook(lambda *_: os.kill(os.getpid(), signal.SIGINT))
try:
    step()
finally:
    handle.remove()
"""
ENABLE = "stowage.enable(devices='cpu', plan_wait_ms=60000)"
TELL = """
report = stowage.report()
print(json.dumps([report["state"], report["iterations"], report["last_iteration_misses"], len(report["devices"])]))
""".replace("json.", "__import__('json').")


def run(*cells: str, **settings: str):
    done = python(KERNEL, json.dumps(cells), **settings)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


def told(*cells: str) -> list:
    """What the cells that TELL printed."""
    return [json.loads(line) for line in run(*cells).stdout.splitlines() if line.startswith("[")]


def test_the_report_shows_the_session_that_lives():
    reports = told(MODEL, ENABLE, TRAIN, TELL, "stowage.disable()", TELL, ENABLE, TELL, TRAIN, TELL)
    assert reports == [["planned", 8, 0, 1], ["off", 8, 0, 1], ["recording", 0, 0, 1], ["planned", 8, 0, 1]]


def test_the_report_at_exit_is_the_living_session_s(tmp_path):
    path = tmp_path / "report.json"
    enable = ENABLE.replace(")", f", report={str(path)!r})")
    run(MODEL, enable, TRAIN, "stowage.disable()", enable, TRAIN.replace("range(8)", "range(9)"))
    report = json.loads(path.read_text())
    assert (report["state"], report["iterations"], len(report["devices"])) == ("planned", 9, 1)


def test_the_trace_that_is_saved_is_the_living_session_s(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    run(MODEL, ENABLE, TRAIN, f"stowage.save_trace({str(first)!r})", "stowage.disable()", ENABLE,
        MODEL.replace("128", "256"), TRAIN, f"stowage.save_trace({str(second)!r})")
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize("when", ["recording", "planned"])
def test_an_interrupted_cell_leaves_nothing_behind(when):
    before = [TRAIN] if when == "planned" else [TRAIN.replace("range(8)", "range(1)")]
    cells = [MODEL, ENABLE, *before, INTERRUPTED, INTERRUPTED, TRAIN, TELL]
    done = run(*cells)
    assert done.stdout.count("cell ended by KeyboardInterrupt") == 2
    state, iterations, misses, devices = json.loads(done.stdout.splitlines()[-1])
    assert (state, misses, devices) == ("planned", 0, 1)


def test_the_losses_are_those_of_the_cells_without_stowage():
    cells = [MODEL, "ENABLE", TRAIN, INTERRUPTED, TRAIN, "AGAIN", TRAIN, "print(losses)"]
    planned = [{"ENABLE": ENABLE, "AGAIN": f"stowage.disable(); {ENABLE}"}.get(cell, cell) for cell in cells]
    plain = [cell for cell in cells if cell not in ("ENABLE", "AGAIN")]
    assert run(*planned).stdout == run(*plain).stdout


def test_a_cell_that_enables_runs_again_and_again():
    assert told(MODEL, ENABLE, TRAIN, ENABLE, TRAIN, ENABLE, TELL) == [["planned", 16, 0, 1]]


@pytest.mark.parametrize("modules", [["stowage"], ["stowage._library", "stowage._budget", "stowage._control", "stowage"]])
def test_the_package_can_be_loaded_anew(modules):
    anew = "import importlib, sys, gc\n" + "".join(f"importlib.reload(sys.modules[{name!r}])\n" for name in modules)
    again = ("stowage.disable()", ENABLE, TRAIN, TELL)
    reports = told(MODEL, ENABLE, TRAIN, anew + "gc.collect()", ENABLE, TRAIN, TELL, *again)
    assert reports == [["planned", 16, 0, 1], ["planned", 8, 0, 1]]


def test_the_package_can_be_loaded_anew_under_a_budget():
    enable = ENABLE.replace(")", ", budget='1GiB')")
    anew = "import importlib, gc, stowage._budget\nimportlib.reload(stowage._budget)\ngc.collect()"
    done = run(MODEL, enable, TRAIN, anew, TRAIN, "stowage.disable()", enable, TRAIN, TELL)
    assert json.loads(done.stdout.splitlines()[-1])[3] == 1 and done.stderr == ""
