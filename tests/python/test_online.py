"""Jobs whose iterations never repeat, on PyTorch's CPU allocator: served from the arena, bit-equal."""

import json

import pytest

from tests.python.doors import digest, python

BEGIN = """
import hashlib, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
draw = torch.Generator().manual_seed(2)
digest = hashlib.sha256()
"""
TRAIN = """
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for i in range(40):
    loss = model(batch(i)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    digest.update(loss.detach().numpy().tobytes())
for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
"""
EXPERTS = """
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(64, 4), nn.ModuleList(nn.Linear(64, 64) for _ in range(4))
    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        chosen, out = weights.argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(1)
            out = out.index_add(0, rows, expert(x[rows]).relu() * weights[rows, number, None])
        return x + out
model = nn.Sequential(Experts(), Experts())
batch = lambda i: torch.randn(512, 64, generator=draw)
""" + TRAIN
GRU = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(32, 32, batch_first=True, bidirectional=True), nn.Linear(64, 16)
    def forward(self, given):
        packed = nn.utils.rnn.pack_padded_sequence(*given, batch_first=True, enforce_sorted=False)
        return self.head(nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0])
model = Tagger()
def batch(i):
    lengths = torch.randint(4, 60, (8,), generator=draw)
    return torch.randn(8, int(lengths.max()), 32, generator=draw), lengths
""" + TRAIN
# Nobody marks an iteration; what is kept grows and is dropped.
GROWING = """
with torch.no_grad():
    for talk in range(60):
        kept = torch.randn(4, 8, generator=draw)
        for turn in range(300):
            kept = torch.cat([kept, torch.randn(4, 8 + int(torch.randint(9, (), generator=draw)), generator=draw)], 1)
            score = torch.softmax(kept @ kept.T, -1)
        digest.update(score.numpy().tobytes())
"""
END = "print('digest', digest.hexdigest())\n"
ENABLE = "import stowage; stowage.enable(devices='cpu')\n"
REPORT = "import json; print(json.dumps(stowage.report()))\n"


@pytest.mark.parametrize("job", [EXPERTS, GRU, GROWING], ids=["experts", "gru", "growing"])
def test_served_from_the_arena_and_bit_equal(job):
    plain = digest(python(BEGIN + job + END))
    done = python(ENABLE + BEGIN + job + END + REPORT)
    assert digest(done) == plain
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["state"] == "online", report
    assert report["online"] > 0 and report["plans"] == []
    assert report["served_bytes"] >= 0.8 * (report["served_bytes"] + report["missed_bytes"]), report
    assert done.stderr == ""


def test_a_setting_turns_it_off():
    done = python(ENABLE.replace(")", ", online=0, record_iterations=20)") + BEGIN + GRU + END + REPORT)
    assert digest(done) == digest(python(BEGIN + GRU + END))
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "off"
    assert "no two of 20 iterations made the same allocations" in done.stderr
