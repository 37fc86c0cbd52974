"""The command tools/gpu_check: its exit status without a GPU, its steps, and which sources results belong to."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.style.files import ROOT, read
from tools.gpu import check, state
from tools.gpu.page import ORDER

BASH = ROOT / "tools" / "gpu_check"


@pytest.fixture(scope="module")
def steps():
    from tools.gpu.order import all_steps
    return all_steps()


def test_without_nvidia_smi_there_is_no_gpu(tmp_path):
    for name in ("bash", "env", "dirname", "cut", "grep"):
        found = subprocess.run(["which", name], text=True, capture_output=True).stdout.strip()
        (tmp_path / name).symlink_to(found)
    done = subprocess.run([BASH], text=True, capture_output=True, env={"PATH": str(tmp_path)})
    assert done.returncode == 3 and "no GPU" in done.stderr


def test_with_nvidia_smi_that_lists_none_there_is_no_gpu(tmp_path):
    fake = tmp_path / "nvidia-smi"
    fake.write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    fake.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([BASH], text=True, capture_output=True, env=os.environ | {"PATH": path})
    assert done.returncode == 3 and "no GPU" in done.stderr


def test_where_torch_sees_no_gpu_there_is_none(monkeypatch, capsys, tmp_path):
    seen = {"torch": "2.11.0", "python": "3.12.3", "device": None, "warnings": "the driver is too old"}
    monkeypatch.setattr(check, "look", lambda simulated: seen)
    assert check.main(["--out", str(tmp_path)]) == check.NO_GPU == 3
    told = capsys.readouterr().err
    assert "sees no CUDA device" in told and "the driver is too old" in told
    assert list(tmp_path.iterdir()) == []


def test_the_bash_half_passes_every_option_on():
    usage = subprocess.run([BASH, "--help"], text=True, capture_output=True).stdout
    ours = set(re.findall(r"--[a-z]+", usage)) - {"--bundle", "--python"}
    words = [sys.executable, "-m", "tools.gpu.check", "--help"]
    shown = subprocess.run(words, cwd=ROOT, text=True, capture_output=True).stdout
    assert ours == set(re.findall(r"--[a-z]+", shown)) - {"--help", "--build"}


def test_names_are_told_apart_and_estimates_are_there(steps):
    assert len({step.name for step in steps}) == len(steps) > 40
    assert all(step.estimate_s > 0 for step in steps)
    assert {step.section for step in steps} == set(ORDER)


def test_the_first_call_tells_of_every_part(steps):
    """In 450 seconds, if the estimates hold."""
    spent, sections = 0.0, set()
    for step in steps:
        if spent + step.estimate_s > 445:
            break
        spent += step.estimate_s
        sections.add(step.section)
    assert sections >= {"Drop-in", "Memory and time", "Safety", "Costs"}


def test_a_dry_run_has_every_part_and_ends_in_time(steps):
    dry = [step for step in steps if step.simulated_s is not None]
    assert {step.section for step in dry} == {step.section for step in steps}
    assert sum(step.simulated_s for step in dry) <= 450


def test_every_requirement_has_its_steps(steps):
    from tools.gpu import recipes, safety
    names = [step.name for step in steps]
    for model in ("gpt2_small", "gpt2_medium", "resnet50", "bert_base", "vit_b16", "llama_1b"):
        assert f"doors {model}" in names and f"memory and time {model}" in names
    for model in ("resnet50_b184", "googlenet", "unet", "mobilenet_v2", "vgg16", "gpt2_medium", "bert_large"):
        percents = sorted(int(word) for name in names if name.startswith(f"budgets {model} ")
                          for word in re.findall(r"\b\d\d\b", name.removeprefix(f"budgets {model} ")))
        assert percents == [33, 40, 50, 66, 75]
    assert {model for models in safety.BUDGETED.values() for model in models} == set(recipes.RECIPES)
    for model in ("gpt2_medium", "resnet50_b184"):
        assert f"largest batch {model}" in names


@pytest.fixture
def checkout(tmp_path):
    for name, text in (("core/a.cc", "int a;"), ("docs/results/gpu.json", "{}"), ("build/x", "x"), ("README.md", "words")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def digest(folder) -> str:
    return state.sources(folder)["digest"]


@pytest.mark.parametrize("name", ["docs/results/gpu.json", "build-gpu/y", "README.md", "core/__pycache__/a.pyc"])
def test_what_is_no_source_does_not_begin_the_suite_anew(checkout, name):
    before = digest(checkout)
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("other")
    assert digest(checkout) == before


@pytest.mark.parametrize("name", ["core/a.cc", "core/b.cc", "tests/zoo/models.py", "tools/gpu_check"])
def test_a_changed_source_does(checkout, name):
    before = digest(checkout)
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("other")
    assert digest(checkout) != before


def test_a_checkout_without_git_has_no_commit(checkout):
    assert state.sources(checkout)["commit"] is None
    assert re.fullmatch(r"[0-9a-f]{40}", state.sources(ROOT)["commit"] or "0" * 40)


def test_the_pages_name_is_the_devices():
    assert check.slug_of("NVIDIA H100 80GB HBM3") == "nvidia-h100-80gb-hbm3"


def test_results_go_where_they_are_told_and_are_gone_on_from(tmp_path, monkeypatch):
    """The whole command with one step, without a device."""
    from tests.tools.gpu_fakes import Bench
    from tools.gpu import order
    bench = Bench(tmp_path)
    monkeypatch.setattr(order, "all_steps", lambda: [bench.step("a", 1), bench.step("b", 1)])
    monkeypatch.setattr(check, "look", lambda simulated: {"torch": "2.11.0", "python": "3.12.3", "device": "A GPU"})
    options = ["--out", str(tmp_path / "out"), "--build", str(tmp_path / "build")]
    assert check.main([*options, "--only", "a"]) == 0
    assert "- b: not asked for" in (tmp_path / "out" / "gpu-a-gpu.md").read_text()
    assert check.main(options) == 0 and bench.done == ["a", "b"]
    found = json.loads((tmp_path / "out" / "gpu-a-gpu.json").read_text())
    assert list(found["steps"]) == ["a", "b"] and len(found["calls"]) == 2
    assert "# Stowage on A GPU" in (tmp_path / "out" / "gpu-a-gpu.md").read_text()
    (tmp_path / "out" / "gpu-a-gpu.json").unlink()
    assert check.main(options) == 0 and bench.done == ["a", "b"], "the copy in the build folder was not used"
    assert check.main([*options, "--fresh"]) == 0 and bench.done == ["a", "b", "a", "b"]


def test_of_several_words_any_selects_a_step(tmp_path, monkeypatch):
    from tests.tools.gpu_fakes import Bench
    from tools.gpu import order
    bench = Bench(tmp_path)
    monkeypatch.setattr(order, "all_steps", lambda: [bench.step(name, 1) for name in ("one", "two", "three")])
    monkeypatch.setattr(check, "look", lambda simulated: {"torch": "2.11.0", "python": "3.12.3", "device": "A GPU"})
    options = ["--out", str(tmp_path / "out"), "--build", str(tmp_path / "build")]
    assert check.main([*options, "--only", "ree", "--only", "on"]) == 0 and bench.done == ["one", "three"]


def test_a_page_that_cannot_be_written_does_not_end_the_suite(tmp_path, monkeypatch, capsys):
    from tests.tools.gpu_fakes import Bench
    from tools.gpu import order
    bench = Bench(tmp_path)
    monkeypatch.setattr(order, "all_steps", lambda: [bench.step("a", 1), bench.step("b", 1)])
    monkeypatch.setattr(check, "look", lambda simulated: {"torch": "2.11.0", "python": "3.12.3", "device": "A GPU"})
    monkeypatch.setattr(check, "page", lambda *_: 1 / 0)
    assert check.main(["--out", str(tmp_path / "out"), "--build", str(tmp_path / "build")]) == 1
    assert bench.done == ["a", "b"] and "ZeroDivisionError" in capsys.readouterr().out
    assert list(json.loads((tmp_path / "out" / "gpu-a-gpu.json").read_text())["steps"]) == ["a", "b"]


def test_docs_name_the_files():
    assert "gpu-NAME.json" in read("docs/gpu_check.md")
