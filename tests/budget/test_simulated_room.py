"""A request that does not fit on the simulated CUDA device under a budget: what makes room for it, and what the error says
where nothing helps."""

import functools
import re

import pytest

from tests.budget import test_simulated
from tests.budget.test_simulated import process

pytestmark = test_simulated.pytestmark

TOO_SMALL = """
import torch, stowage
kept = torch.zeros(10 << 20).cuda()  # of what is gone: it cannot be made again
try:
    torch.zeros(15 << 20, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print(error)
assert torch.cuda.memory_stats()["num_ooms"] == 1
del kept
assert torch.zeros(15 << 20, device="cuda").sum().item() == 0
assert stowage.report()["budget"]["refusals"] == 1
"""


WORKSPACES = """
import torch
x = torch.zeros(1 << 10, 1 << 10).cuda()
(x @ x).sum().item()
torch.zeros(200 << 18, device="cuda")
"""


def test_the_error_names_workspaces_and_cache():
    done = process("-c", WORKSPACES, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="90MiB",
                   TORCH_CUBLAS_WORKSPACE_CACHE="1")  # newer torches keep none otherwise
    assert re.search(r"\d+ .iB in cuBLAS workspaces", done.stderr), done.stderr
    assert re.search(r"\d+ .iB free in PyTorch's cache or lost to fragmentation", done.stderr), done.stderr


def test_what_does_not_fit_is_pytorchs_own_error_and_the_job_may_go_on():
    done = process("-c", TOO_SMALL, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="90MiB", STOWAGE_HOST_MEMORY="0")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for part in ("CUDA out of memory. Tried to allocate 60.00 MiB", "stowage: the budget of 90MiB", "A budget of",
                 "would be enough", "STOWAGE_HOST_MEMORY=0 forbids it"):
        assert part in done.stdout
    assert "expandable_segments:True" not in done.stdout, "that is on already"


FASTEST = """
import torch, stowage
torch.backends.cudnn.benchmark = True
convolution = torch.nn.Conv2d(8, 8, 3, padding=1).cuda()
with torch.no_grad():
    x = torch.zeros(16, 8, 128, 128).cuda()  # 8 MiB
    kept = [x.sin() for _ in range(6)]
    convolution(x)
budget = stowage.report()["budget"]
print(budget["evictions"], budget["refusals"])
"""


@pytest.mark.parametrize("workspace, evictions", [("40MiB", 5), ("200MiB", 0)])
def test_a_search_for_the_fastest_convolution_knows_what_the_budget_allows(workspace, evictions):
    """What fits once all is evicted is asked for; what never fits is left out, where PyTorch's own limit ends the job."""
    done = process("-c", FASTEST, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="100MiB",
                   STOWAGE_SIM_DNN_WORKSPACE=workspace)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.split() == [str(evictions), "0"]


HOLES = """
import sys, torch, stowage
kept = [torch.zeros(3 << 20).cuda() for _ in range(16)]  # of 12 MiB each; they cannot be made again
del kept[::2]
torch.zeros(20 << 20, device="cuda")
"""


def test_the_budget_that_an_error_names_would_do():
    """Also where enough is free, but not in one piece."""
    alone = functools.partial(process, "-c", HOLES, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_HOST_MEMORY="0")
    too_small = alone(STOWAGE_BUDGET="200MiB")
    said = re.search(r"A budget of (\d+) MiB would be enough", too_small.stderr)
    assert too_small.returncode != 0 and said and int(said[1]) > 200, too_small.stderr
    enough = alone(STOWAGE_BUDGET=f"{said[1]}MiB")
    assert enough.returncode == 0 and enough.stderr == "", enough.stderr
    offloads = process("-c", HOLES, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="200MiB")
    assert offloads.returncode == 0 and offloads.stderr == "", "what lies beside the holes goes to the host"


NEIGHBOURS = """
import torch, stowage
torch.set_grad_enabled(False)
source = torch.zeros(6 << 18).cuda()
kept = [source.sin() for _ in range(16)]  # of 6 MiB each, one behind the other; two make a page
del kept[::2]
evictions = lambda: stowage.report()["budget"]["evictions"]
assert evictions() == 0
torch.zeros(10 << 18, device="cuda")
assert evictions() == 1, evictions()
"""


def test_what_lies_beside_free_memory_is_evicted():
    """Half of what is there is free, in pieces too small: one tensor between two of them is enough, wherever the cheapest
    tensors lie."""
    done = process("-c", NEIGHBOURS, STOWAGE="1", STOWAGE_DEVICES="cuda", STOWAGE_BUDGET="120MiB")
    assert done.returncode == 0 and done.stderr == "", done.stderr
