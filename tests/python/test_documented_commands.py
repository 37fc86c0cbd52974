"""Every command line of README and docs does what it says: it is run here as it stands, or where ELSEWHERE says, which is
looked up there."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.environment import without
from tests.python.documented import documented, in_text, python_lines
from tests.python.doors import ROOT
from tests.style.documents import READERS_FILES
from tests.style.files import build_folder

sys.path.insert(0, str(ROOT / "python"))
from stowage import _library, cli  # noqa: E402

TRAIN = """
import torch
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(*[m for _ in range(8) for m in (torch.nn.Linear(64, 64), torch.nn.GELU())]).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(12):
    optimizer.zero_grad()
    model(torch.randn(256, 64, device=device)).square().mean().backward()
    optimizer.step()
"""
# Jobs: Stowage must have planned them.
JOBS = {"STOWAGE=1 python train.py", "LD_PRELOAD=$(stowage preload) python train.py", "stowage run train.py",
        "stowage run train.py --my-args",
        "stowage dryrun --device-memory 80GiB train.py",
        "stowage run --budget 60% examples/char_gpt.py --iterations 12"}
# Others, with a word of what they print.
OTHERS = {"stowage settings": "STOWAGE_BUDGET", "stowage run --budget least --spill . train.py": "(least), held at most",
          "stowage doctor": "torch", "stowage --version": "built for torch",
          "stowage replay job.stowtrace": "lower bound", "stowage place problem.csv": "height",
          "stowage place problem.csv --capacity 80GiB": "height", "stowage place job.stowtrace": "height",
          "stowage timeline job.stowtrace": "Perfetto",
          "stowage place problem.csv --time-limit 2 --json": '"proved"',
          "stowage report report.rank0.json report.rank1.json": "rank1", "stowage report 'report.*.json'": "rank1",
          "stowage report report.json": "rank1", "stowage cache": "0 plans", "stowage cache list --json": '"files"',
          "stowage cache path": "plans", "stowage cache clear": "removed 0 plans",
          "stowage cache clear --older-than 30": "removed 0 plans"}
PACKAGES = ("sudo apt-get install g++ libtbb-dev liblpsolve55-dev libsuitesparse-dev flatbuffers-compiler "
            "libflatbuffers-dev libzstd-dev libcli11-dev nlohmann-json3-dev")  # compared with what the build asks for
# Tools, which take minutes to hours and run this test: their usage has them.
TOOLS = {"tools/demo", "tools/demo --quick", "tools/gpu_check", "tools/gpu_check --dry", "tools/gpu_check --list",
         "tools/test", "tools/test host", "tools/test quick",
         "tools/test -k WORD", "tools/test --torch 2.15.0", "tools/bench PAGE"}
# CTest's: it finds tests by them.
LISTED = {"STOWAGE_EVICTION_SEEDS=1000 ctest --test-dir build -R recompute_forced_evictions --timeout 7200"}
# Run in a folder with all that a checkout has.
CONFIGURED = {"cmake -S . -B build-planner -DSTOWAGE_PLANNER_ONLY=ON -DCMAKE_BUILD_TYPE=Release", "cmake --preset host"}
# On the simulated device, without Stowage.
SIMULATED = {"LD_PRELOAD=$B/libstowage_simcuda.so:$B/libcuda.so.1:$B/libnvidia-ml.so.1 TORCH_CUDNN_V8_API_DISABLED=1 "
             "STOWAGE_SIM_MEMORY=24GiB STOWAGE_SIM_REPORT=1 python train.py"}
# Run by another test or tool: where, and what of the command stands there.
PACKAGE_TEST, WHEEL_TEST = "tests/package/package_test.cmake", "tests/package/test_wheel.py"
ELSEWHERE = {
    "cmake --preset asan": ("tools/test", 'cmake --preset "$1"', "run_sanitizer asan"),
    "cmake --preset tsan": ("tools/test", 'cmake --preset "$1"', "run_sanitizer tsan"),
    "cmake --build build-planner && cmake --install build-planner --prefix PREFIX":
        (PACKAGE_TEST, "--build ${WORK}/build", "--install ${BUILD}", "--prefix ${WORK}/prefix"),
    "cmake --install build --component development --prefix PREFIX":
        (PACKAGE_TEST, "--install ${BUILD} --component development --prefix ${WORK}/prefix"),
    "cmake -S examples/placement -B build-example -DCMAKE_PREFIX_PATH=PREFIX":
        (PACKAGE_TEST, "-S ${SOURCE}/examples/placement -B ${WORK}/build", "-DCMAKE_PREFIX_PATH=${WORK}/moved"),
    "cmake --build build-example && build-example/placement_example examples/placement/buffers.csv":
        (PACKAGE_TEST, "--build ${WORK}/build", "placement_example ${SOURCE}/examples/placement/buffers.csv"),
    "pip install .": (WHEEL_TEST, '"pip", "install", *options, "."'),
    "pip install --no-build-isolation .": (WHEEL_TEST, '"pip", "install", *options, "."', '"--no-build-isolation"'),
    "STOWAGE_PYTHON=/path/to/python pip install .": (WHEEL_TEST, "STOWAGE_PYTHON=str(with_torch"),
    "STOWAGE=1 STOWAGE_DEVICES=cpu STOWAGE_BUDGET=12MB python use_cache.py ./libspilling_cache.so":
        ("tests/budget/test_evictable.py", "use_cache.py", "libspilling_cache.so", 'STOWAGE_DEVICES="cpu"',
         'STOWAGE_BUDGET="12MB"'),
    "python tests/compatibility/table.py --write": ("tests/compatibility/table.py", '"--write"', '"compatibility.md"'),
    "stowage bisect -- train.py": ("tests/python/test_bisect.py", '"bisect", *arguments', '"--", str(script)'),
    "stowage bisect --set fault=recipe:aten::softplus --set devices=cpu -- examples/wrong_bits/train.py":
        ("tests/python/test_bisect.py", "fault=recipe:aten::softplus", "devices=cpu",
         '"examples" / "wrong_bits" / "train.py"'),
    "stowage run --set max_plans=3": ("tests/python/test_cli.py", '"run", "--set", "max_plans=3", str(script)'),
}
PYTHON = {'import stowage; stowage.enable()': "cpu", 'import stowage; stowage.enable(budget="60%")': "cpu",
          "torch.cuda.memory.change_current_allocator(stowage.pluggable_allocator())": "cuda"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a reader stands: the commands at hand, a script, a trace, a problem."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "bin").mkdir()
    for name, start in {"python": "", "stowage": "-m stowage "}.items():
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {start}"$@"\n')
        (folder / "bin" / name).chmod(0o755)
    subprocess.run([sys.executable, ROOT / "tools" / "link_package.py", "--into", folder / "metadata"], check=True)
    (folder / "train.py").write_text(TRAIN)
    (folder / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "benchmarks" / "instances" / "A.1048576.csv", folder / "problem.csv")
    for rank in (0, 1):
        report = {"process": {"id": rank, "name": f"rank{rank}"}, "devices": [{"device": "cpu", "state": "planned"}]}
        (folder / f"report.rank{rank}.json").write_text(json.dumps(report))
    run(folder, "STOWAGE=1 STOWAGE_TRACE=job.stowtrace python train.py", environment(folder))
    return folder


def environment(folder, **settings: str) -> dict[str, str]:
    return without("STOWAGE") | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": f"{ROOT / 'python'}:{folder / 'metadata'}", "STOWAGE_PLAN_WAIT_MS": "60000"} | settings


def run(folder, command: str, settings: dict[str, str]) -> str:
    done = subprocess.run(["bash", "-c", command], env=settings, cwd=folder, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    return done.stdout


def state_of(report) -> str:
    return json.loads(report.read_text())["state"]


@pytest.mark.parametrize("command", sorted(JOBS))
def test_a_job_is_planned(folder, command, tmp_path):
    run(folder, command, environment(folder, STOWAGE_REPORT=str(tmp_path / "of_job.json")))
    assert state_of(tmp_path / "of_job.json") == "planned"


@pytest.mark.parametrize("command", sorted(OTHERS))
def test_a_command_prints_what_it_is_for(folder, command):
    settings = environment(folder, STOWAGE_PLAN_CACHE=str(folder / "plans"))
    told = f"({command}) 2>&1" if command.startswith("stowage run") else command  # a report goes to standard error
    assert OTHERS[command] in run(folder, told, settings)


@pytest.mark.parametrize("line", sorted(PYTHON))
def test_a_line_of_python_plans_the_job(folder, line, tmp_path):
    settings = environment(folder, STOWAGE_REPORT=str(tmp_path / "of_job.json"))
    if PYTHON[line] == "cuda":
        rules = _library.find("simulator/env.json")
        settings = cli.simulator_environment(rules.parent, settings)
    script = tmp_path / "job.py"
    script.write_text(f"import torch, stowage\n{line}\n{TRAIN}")
    run(folder, f"python {script}", settings)
    assert state_of(tmp_path / "of_job.json") in ("planned", "rescuing")


@pytest.mark.parametrize("command", sorted(SIMULATED))
def test_a_job_runs_on_the_simulated_device(folder, command):
    settings = environment(folder, B=str(_library.find("simulator/env.json").parent))
    done = subprocess.run(["bash", "-c", command], env=settings, cwd=folder, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and "stowage simulator: launches" in done.stderr, done.stderr


@pytest.mark.parametrize("command", sorted(ELSEWHERE))
def test_a_command_that_is_run_elsewhere_stands_there(command):
    place, *words = ELSEWHERE[command]
    assert [word for word in words if word not in (ROOT / place).read_text()] == []


@pytest.mark.parametrize("command", sorted(TOOLS))
def test_a_tools_usage_has_the_command(command):
    usage = subprocess.run([ROOT / command.split()[0], "--help"], text=True, capture_output=True).stdout
    assert re.search(rf"^  {re.escape(command)}(?:\s{{2,}}|\s+\S.*$)", usage, re.MULTILINE), usage


@pytest.mark.parametrize("command", sorted(LISTED))
def test_ctest_finds_the_test(command):
    shown = subprocess.run(["bash", "-c", f"{command.replace(' build ', f' {build_folder()} ')} -N"], text=True,
                           capture_output=True)
    assert re.search(r"Total Tests: [1-9]", shown.stdout), shown.stdout + shown.stderr


@pytest.mark.parametrize("command", sorted(CONFIGURED))
def test_a_build_is_configured(command, tmp_path):
    for path in ROOT.iterdir():
        if path.name != ".git" and not path.name.startswith("build"):
            (tmp_path / path.name).symlink_to(path)
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=os.environ | {"CMAKE_GENERATOR": "Ninja"}, text=True,
                          capture_output=True)
    assert done.returncode == 0 and "Build files have been written" in done.stdout, done.stdout + done.stderr


def test_the_readers_files_are_those_that_the_documents_may_name(folder):
    made = {path.name for path in folder.iterdir() if path.is_file()}
    named = {path for path in READERS_FILES if path not in ("report.json", "report.pid0.json", "problem.placed.csv")}
    assert named <= made


def test_every_documented_command_is_run_or_stands_elsewhere():
    told = JOBS | set(OTHERS) | {PACKAGES} | TOOLS | LISTED | CONFIGURED | SIMULATED | set(ELSEWHERE)
    found = documented()
    assert {command: found[command] for command in sorted(set(found) - told)} == {}
    assert sorted(told - set(found)) == []
    assert python_lines() == set(PYTHON)


def test_the_packages_are_those_that_the_build_looks_for():
    looked_for = re.findall(r"^needs\((\S+)", (ROOT / "cmake" / "StowageDependencies.cmake").read_text(), re.MULTILINE)
    assert PACKAGES.split()[3:] == ["g++", *looked_for]


def test_what_is_a_command_line_is_found():
    text = ("Run `stowage run`, or `stowage report a.json`:\n\n    stowage place x.csv   # now\n\n```\nA=$(stowage preload) "
            "python a.py # b\ntools/demo\n```\n")
    assert in_text(text) == {"stowage report a.json", "stowage place x.csv", "A=$(stowage preload) python a.py",
                             "tools/demo"}
