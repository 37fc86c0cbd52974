"""A job under a budget beside whose main thread others run: ones that draw random numbers or train, and forked workers."""

import pytest

from tests.budget.runs import process

TRAIN = """
import hashlib, os, threading, time, torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
def make():
    layers = [nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 64), nn.GELU()) for _ in range(6)]
    model = nn.Sequential(*layers)
    return model, torch.optim.SGD(model.parameters(), 0.05)
def train(model, optimizer, x):
    optimizer.zero_grad(); loss = model(x).square().mean(); loss.backward(); optimizer.step()
    return loss.item()
def digest():
    return hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()
model, optimizer = make()
"""

# A loader's thread draws while the backward pass, which draws nothing without Stowage, replays dropouts.
DRAWS = TRAIN + """
batch = torch.randn(1024, 64)
def prefetch():
    global batch
    noise = sum(torch.rand(64).sum() for _ in range(300))
    batch = torch.randn(1024, 64) + noise * 1e-5
for i in range(12):
    optimizer.zero_grad(); loss = model(batch).square().mean()
    thread = threading.Thread(target=prefetch); thread.start(); loss.backward(); thread.join(); optimizer.step()
print(loss.item(), digest())
"""

# Another thread trains while this one forks, as a DataLoader does for each epoch.
FORKS = TRAIN + """
over = False
def background():
    mine = make()
    while not over: train(*mine, torch.randn(512, 64))
thread = threading.Thread(target=background, daemon=True); thread.start()
for i in range(20):
    child = os.fork()
    if child == 0:
        torch.ones(64).sin().sum().item(); os._exit(0)
    end = time.time() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.time() > end: os.kill(child, 9); os._exit(3)
        time.sleep(0.005)
    train(model, optimizer, torch.randn(512, 64))
over = True; thread.join(); print("done")
"""

# Without dropout: a worker seeds torch's generator, and hangs, without Stowage too, where a thread was drawing at the fork.
LOADS = TRAIN.replace("nn.Dropout(0.2), ", "") + """
over = False
def background():
    mine = make()
    while not over: train(*mine, torch.ones(512, 64))
class Images(torch.utils.data.Dataset):
    def __len__(self): return 24
    def __getitem__(self, at): return torch.full((128, 64), float(at)).sin()
thread = threading.Thread(target=background, daemon=True); thread.start()
for epoch in range(3):
    loaded = 0.0
    for x in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=2, timeout=60):
        loaded += x.sum().item(); train(model, optimizer, x.flatten(0, 1))
over = True; thread.join(); print(loaded)
"""


def run(program: str, budget: str | None) -> str:
    settings = {} if budget is None else {"STOWAGE": "1", "STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": budget}
    done = process("-c", program, timeout_s=500, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("budget", ["75%", "60%"])  # how much both threads hold at once depends on their timing
def test_a_thread_that_draws_while_dropouts_run_again_changes_nothing(budget):
    assert run(DRAWS, budget) == run(DRAWS, None)


@pytest.mark.parametrize("budget", ["14MiB", "20MiB"])  # of a share the other thread decides
def test_a_child_runs_ops_whatever_other_threads_of_its_parent_do(budget):
    assert run(FORKS, budget) == "done\n"


def test_workers_of_a_loader_beside_a_second_thread_that_trains():
    # Without Stowage a worker may hang, as it is forked while the other thread holds a lock: the plain run has none.
    plain = LOADS.replace("num_workers=2, timeout=60", "num_workers=0")
    assert run(LOADS, "14MiB") == run(plain, None)
