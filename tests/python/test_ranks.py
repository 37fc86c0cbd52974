"""Ranks of one job: those that do the same make their plans once for all, those that differ their own; none waits for one
that is gone."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from tests.environment import without
from tests.python.doors import ROOT

BEGIN = """
import hashlib, os, signal, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
digest = hashlib.sha256()
def layers(width, depth=2):
    return torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.GELU(), torch.nn.Linear(width, 64))
                                 for _ in range(depth)))
def note(*tensors):
    for tensor in tensors: digest.update(tensor.detach().numpy().tobytes())
"""
END = """
os.write(1, f"digest {rank} {digest.hexdigest()}\\n".encode())  # at once: ranks have one output
dist.barrier()
dist.destroy_process_group()
"""
TRAIN = """
optimizer = torch.optim.AdamW(model.parameters())
for i in range(14):
    loss = model(torch.randn(32, 64) + rank).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    note(loss)
"""
DDP = BEGIN + "model = torch.nn.parallel.DistributedDataParallel(layers(256), gradient_as_bucket_view=True)" + TRAIN + END
# With activations that are worth a budget.
LARGE = (DDP.replace("layers(256)", "layers(512, 6)").replace("randn(32, 64)", "randn(1024, 64)")
         .replace("range(14)", "range(20)"))
FSDP2 = BEGIN + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
model = layers(256)
for part in (*model, model): fully_shard(part, mesh=init_device_mesh("cpu", (ranks,)))
""" + TRAIN + END
# Two stages of a pipeline: the first sends activations, the second gradients back.
STAGES = BEGIN + """
model = layers(128 if rank == 0 else 384)
optimizer = torch.optim.AdamW(model.parameters())
for i in range(14):
    if rank == 0:
        made = model(torch.randn(32, 64))
        dist.send(made.detach(), 1)
        gradient = torch.empty_like(made)
        dist.recv(gradient, 1)
        made.backward(gradient)
        note(gradient)
    else:
        given = torch.empty(32, 64)
        dist.recv(given, 0)
        loss = model(given.requires_grad_()).square().mean()
        loss.backward()
        dist.send(given.grad, 0)
        note(loss)
    optimizer.step()
    optimizer.zero_grad()
""" + END
# Rank 0 dies when it has a plan; its store with it.
DYING = DDP.replace("    note(loss)\n", """
    note(loss)
    if i == 9 and rank == 0: os.kill(os.getpid(), signal.SIGKILL)
""")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    metadata = tmp_path_factory.mktemp("metadata")
    subprocess.run([sys.executable, ROOT / "tools" / "link_package.py", "--into", metadata], check=True)
    return without("STOWAGE") | {
        "PYTHONPATH": f"{ROOT / 'python'}:{metadata}", "OMP_NUM_THREADS": "1", "STOWAGE_DEVICES": "cpu",
        "STOWAGE_PLAN_WAIT_MS": "60000", "STOWAGE_REPORT": "report.json"}


def torchrun(environment, folder, program: str, ranks: int, **settings: str) -> list[str]:
    """The digests that the ranks print, in order of rank."""
    (folder / "job.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone", "job.py"],
        env=environment | {"STOWAGE": "1"} | settings, cwd=folder, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "stowage: warning" not in done.stderr, done.stderr
    return sorted(line for line in done.stdout.splitlines() if line.startswith("digest"))


def reports(folder, ranks: int) -> list[dict]:
    return [json.loads((folder / f"report.rank{rank}.json").read_text()) for rank in range(ranks)]


def places(report: dict) -> list[tuple]:
    return [(plan["fingerprint"], plan["height_bytes"], plan["technique"]) for plan in report["plans"]]


def off_plan(report: dict) -> int:
    return sum(report["misses"].values()) + report["improvised"] + report["planned_upstream"]


def expect_shared(told: list[dict]) -> None:
    for rank, report in enumerate(told):
        sharing = report["sharing"]
        assert report["state"] == "planned"
        assert (sharing["rank"], sharing["ranks"]) == (rank, len(told))
        assert sharing["failures"] == sharing["plans_refused"] == 0, sharing
        assert places(report) == places(told[0])
        assert sharing["digest"] == told[0]["sharing"]["digest"]
    made = sum(report["sharing"]["plans_made"] for report in told)
    received = sum(report["sharing"]["plans_received"] for report in told)
    assert (made, received) == (1, len(told) - 1), [report["sharing"] for report in told]


def test_ranks_that_do_the_same_plan_once(environment, tmp_path):
    digests = torchrun(environment, tmp_path, DDP, 4)
    told = reports(tmp_path, 4)
    expect_shared(told)
    for report in told:
        assert off_plan(report) <= report["hits"] / 100
    assert digests == torchrun(environment, tmp_path, DDP, 4, STOWAGE="0"), "bits differ from the plain job's"


def test_shards_of_a_model_are_planned(environment, tmp_path):
    """Gathered parameters and scattered gradients, too. Threads of gloo let go of them at any time, so that ranks may see
    other lifetimes: what one made is then refused, and they plan for themselves."""
    digests = torchrun(environment, tmp_path, FSDP2, 2)
    for report in reports(tmp_path, 2):
        sharing = report["sharing"]
        assert report["state"] == "planned" and sharing["failures"] == 0
        assert sharing["plans_made"] + sharing["plans_received"] >= 1, sharing
        assert off_plan(report) <= report["hits"] / 10, report
    assert digests == torchrun(environment, tmp_path, FSDP2, 2, STOWAGE="0"), "bits differ from the plain job's"


def test_under_a_budget_ranks_share_a_schedule(environment, tmp_path):
    digests = torchrun(environment, tmp_path, LARGE, 2, STOWAGE_BUDGET="60%")
    told = reports(tmp_path, 2)
    for report in told:
        sharing, budget = report["sharing"], report["budget"]
        assert budget["schedule"]["followed"] and budget["peak_held_bytes"] <= budget["limit_bytes"], budget
        assert sharing["schedules_made"] + sharing["schedules_received"] >= 1, sharing
    # Each rank's budget is a share of its own peak: the other's schedule may hold some bytes too many.
    answered = [report["sharing"]["schedules_received"] + report["sharing"]["schedules_refused"] for report in told]
    assert sum(answered) >= 1, [report["sharing"] for report in told]
    assert digests == torchrun(environment, tmp_path, LARGE, 2, STOWAGE="0"), "bits differ from the plain job's"


def test_stages_of_a_pipeline_have_plans_of_their_own(environment, tmp_path):
    torchrun(environment, tmp_path, STAGES, 2)
    first, second = reports(tmp_path, 2)
    for report in (first, second):
        assert report["state"] == "planned" and report["sharing"]["plans_received"] == 0, report["sharing"]
    assert first["sharing"]["digest"] != second["sharing"]["digest"]


def test_sharing_can_be_turned_off(environment, tmp_path):
    torchrun(environment, tmp_path, DDP, 2, STOWAGE_SHARE_PLANS="0")
    told = reports(tmp_path, 2)
    assert all(report["state"] == "planned" and "sharing" not in report for report in told)
    assert places(told[0]) == places(told[1]), "planning is deterministic"


def test_a_rank_that_dies_does_not_hang_the_others(environment, tmp_path):
    """Without a launcher, which would end them."""
    (tmp_path / "job.py").write_text(DYING)
    port = str(free_port())
    jobs = [subprocess.Popen([sys.executable, "job.py"], cwd=tmp_path, text=True, stderr=subprocess.PIPE,
                             env=environment | {"STOWAGE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                                                "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank)})
            for rank in range(2)]
    try:
        told = [job.communicate(timeout=120)[1] for job in jobs]
    finally:
        for job in jobs:
            job.kill()
    assert jobs[0].returncode == -signal.SIGKILL
    assert jobs[1].returncode == 1 and "gloo" in told[1], told[1]
