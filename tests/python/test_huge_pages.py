"""The CPU arena has huge pages if PyTorch's own CPU memory has them, and small ones otherwise."""

import pytest

from tests.python.doors import python

# None of its tensors has two MiB, from which on PyTorch asks for huge pages.
HUGE = """
import torch, stowage
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8)))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
for i in range(12):
    model(torch.randn(64, 512)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
report = stowage.report()
assert report["state"] == "planned" and report["arena_bytes"] > 2 << 20, report
found = any(line.startswith("VmFlags:") and "hg" in line.split() for line in open("/proc/self/smaps"))
print(found)
"""


@pytest.mark.parametrize(("wanted", "flags"), (({}, "False"), ({"THP_MEM_ALLOC_ENABLE": "1"}, "True")))
def test_the_arena_has_huge_pages_where_pytorchs_memory_has(wanted, flags):
    done = python(HUGE, STOWAGE="1", STOWAGE_DEVICES="cpu", STOWAGE_PLAN_WAIT_MS="60000", **wanted)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == flags, done.stdout + done.stderr
