"""Jobs of several processes: their reports and traces do not meet, and processes that do nothing write nothing."""

import json
import re
import subprocess
import sys

import pytest

from tests.environment import without
from tests.python.doors import ROOT
from tests.python.test_cli import stowage

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
WRAP
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(10):
    optimizer.zero_grad()
    model(torch.randn(32, 64)).square().mean().backward()
    optimizer.step()
"""
RANKS = "import torch.distributed\ntorch.distributed.init_process_group('gloo')" + TRAIN.replace(
    "WRAP", "model = torch.nn.parallel.DistributedDataParallel(model)") + "torch.distributed.destroy_process_group()\n"
PARENT = """
import torch
import torch.multiprocessing as processes
def child(index):
    exec(open("train.py").read())
if __name__ == "__main__":
    kept = torch.ones(100_000)
    processes.spawn(child, nprocs=2)
    data = [torch.ones(8) * i for i in range(8)]
    batches = list(torch.utils.data.DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context="spawn"))
    assert [int(batch[0, 0]) for batch in batches] == [0, 2, 4, 6]
"""


def run(folder, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    """Python with the package's metadata at hand, so that torch finds the entry point in every process."""
    metadata = folder / "metadata"
    subprocess.run([sys.executable, ROOT / "tools" / "link_package.py", "--into", metadata], check=True)
    environment = without("STOWAGE") | {
        "PYTHONPATH": f"{ROOT / 'python'}:{metadata}", "OMP_NUM_THREADS": "1", "STOWAGE": "1", "STOWAGE_DEVICES": "cpu",
        "STOWAGE_PLAN_WAIT_MS": "60000"} | settings
    done = subprocess.run([sys.executable, *arguments], env=environment, cwd=folder, text=True, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def job(tmp_path):
    (tmp_path / "ranks.py").write_text(RANKS)
    (tmp_path / "train.py").write_text(TRAIN.replace("WRAP", ""))
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "out").mkdir()
    return tmp_path


TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", "ranks.py")


def written(job):
    return sorted(path.name for path in (job / "out").iterdir())


def test_ranks_write_their_own_files_and_the_launcher_none(job):
    run(job, *TORCHRUN, STOWAGE_REPORT="out/report.json", STOWAGE_TRACE="out/job.stowtrace")
    assert written(job) == ["job.rank0.stowtrace", "job.rank1.stowtrace", "report.rank0.json", "report.rank1.json"]
    reports = [json.loads((job / "out" / f"report.rank{rank}.json").read_text()) for rank in (0, 1)]
    assert [report["process"]["name"] for report in reports] == ["rank0", "rank1"]
    assert all(report["state"] == "planned" and report["iterations"] == 10 for report in reports)
    for names in (["report.rank0.json", "report.rank1.json"], ["report.*.json"], ["report.json"]):
        done = stowage("report", *(str(job / "out" / name) for name in names))
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert [line.split()[:3] for line in lines[1:]] == [[f"rank{n}", "cpu:0", "planned"] for n in (0, 1)], done.stdout
    one = stowage("report", str(job / "out" / "report.rank1.json")).stdout
    assert one.startswith("stowage on cpu:0")


def test_each_line_of_a_rank_s_table_begins_with_its_name(job):
    lines = [line for line in run(job, *TORCHRUN, STOWAGE_REPORT="text").stderr.splitlines() if "stowage on" in line]
    assert sorted(lines) == ["[rank0] stowage on cpu:0 CPU", "[rank1] stowage on cpu:0 CPU"]


def test_children_of_multiprocessing_are_told_apart_and_loaders_are_silent(job):
    run(job, "parent.py", STOWAGE_REPORT="out/report.json", STOWAGE_TRACE="out/job")
    reports = [name for name in written(job) if name.startswith("report")]
    assert len(reports) == 3 and reports[0] == "report.json"
    assert all(re.fullmatch(r"report\.pid\d+\.json", name) for name in reports[1:]) or reports[-1] == "report.json"
    assert len(written(job)) == 6
    states = {name: json.loads((job / "out" / name).read_text())["iterations"] for name in reports}
    assert sorted(states.values()) == [0, 10, 10] and states["report.json"] == 0


def test_unrelated_processes_at_once_do_not_overwrite_each_other(job):
    slow = "import sys\n" + TRAIN.replace("WRAP", "") + "print('trained', flush=True)\nsys.stdin.read()\n"
    (job / "slow.py").write_text(slow)
    (job / "two.py").write_text("""
import subprocess, sys
jobs = [subprocess.Popen([sys.executable, "slow.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)]
for job in jobs: assert job.stdout.readline() == "trained\\n"
for job in jobs: job.communicate()
""")
    run(job, "two.py", STOWAGE_REPORT="out/report.json")
    assert len(written(job)) == 2 and "report.json" in written(job)


def test_a_later_run_overwrites_the_report_of_the_one_before(job):
    for _ in range(2):
        run(job, "train.py", STOWAGE_REPORT="out/report.json")
    assert written(job) == ["report.json"]


def test_a_process_without_tensors_writes_nothing(job):
    run(job, "-c", "import torch", STOWAGE_REPORT="out/report.json", STOWAGE_TRACE="out/job")
    assert written(job) == []


def test_a_job_that_ends_in_its_first_iteration_is_reported(job):
    run(job, "-c", "import torch; x = torch.ones(100_000)", STOWAGE_REPORT="out/report.json")
    report = json.loads((job / "out" / "report.json").read_text())
    assert (report["state"], report["iterations"]) == ("recording", 0) and report["peak_live_bytes"] >= 400_000
