"""Random training jobs as Python source: `source(seed)` is a whole program, the same for the same seed.

A program takes a device ("cpu" or "cuda") and a number of iterations, trains, and prints one line of JSON: digests of
all that training changed, the losses, and on CUDA what PyTorch's allocator reserved. It knows nothing of Stowage. Sizes
are small on the CPU; on CUDA, where the simulated device computes nothing, layers are `SCALE` times wider and batches
`BATCH` times larger, so that a job holds a gigabyte or so.
"""

import random

SCALE, BATCH = 64, 32

HEAD = '''\
"""Random job {seed}: {summary}."""
import collections, hashlib, io, json, sys
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

device, iterations = torch.device(sys.argv[1]), int(sys.argv[2])
SCALE, BATCH = {scale} if device.type == "cuda" else (1, 1)
torch.manual_seed({seed})
torch.set_num_threads(1)
torch.backends.cudnn.enabled = False
'''

MODELS = {
    "mlp": '''
width, depth = {width} * SCALE, {depth}
def layers(): return nn.Linear(width, width), nn.LayerNorm(width), nn.{activation}(), nn.Dropout({dropout})
body = nn.Sequential(*[layer for _ in range(depth) for layer in layers()])
head = nn.Linear(width, 16)
def inputs(size): return torch.randn(size * BATCH, width, device=device)
''',
    "cnn": '''
channels = {width} // 4 * SCALE
def block(a, b): return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
body = nn.Sequential(block(3, channels), *[block(channels, channels) for _ in range({depth})], nn.MaxPool2d(2),
                     nn.Dropout({dropout}), block(channels, 2 * channels), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(2 * channels, 16)
def inputs(size): return torch.randn(size * BATCH, 3, 12, 12, device=device)
''',
    "transformer": '''
width = {width} * SCALE
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, {dropout}, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, {depth}, enable_nested_tensor=False)
    def forward(self, tokens): return self.layers(self.embed(tokens)).mean(1)
body = Body()
head = nn.Linear(width, 16)
def inputs(size): return torch.randint(0, 100, (size * BATCH, 24), device=device)
''',
    "rnn": '''
width = {width} * SCALE
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{cell}(width, width, {depth}, batch_first=True)
    def forward(self, steps): return self.rnn(steps)[0][:, -1]
body = Body()
head = nn.Sequential(nn.Dropout({dropout}), nn.Linear(width, 16))
def inputs(size): return torch.randn(size * BATCH, 12, width, device=device)
''',
    "dense": '''
width, grow = {width} * SCALE, {width} // 2 * SCALE
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width + i * grow, grow) for i in range({depth}))
        self.last = nn.Linear(width + {depth} * grow, width)
    def forward(self, x):
        for layer in self.layers: x = torch.cat([x, nn.functional.{function}(layer(x))], 1)
        return self.last(x)
body = Body()
head = nn.Linear(width, 16)
def inputs(size): return torch.randn(size * BATCH, width, device=device)
''',
}

OPTIMIZERS = ("SGD(parameters, lr=1e-3)", "SGD(parameters, lr=1e-3, momentum=0.9, nesterov=True)",
              "Adam(parameters, lr=1e-3)",
              "AdamW(parameters, lr=1e-3, foreach=False)", "AdamW(parameters, lr=1e-3, amsgrad=True)",
              "RMSprop(parameters, lr=1e-4, centered=True)", "Adagrad(parameters, lr=1e-3)")

PARTS = '''
body, head = body.to(device), head.to(device)
parameters = [*body.parameters(), *head.parameters()]
optimizer = torch.optim.{optimizer}
losses, kept, recent, reserved, used = [], [], collections.deque(maxlen={recent}), [], []

class Trouble(Exception): pass

def note(value): losses.append(value.item().hex())

def forward(x):
    with torch.autocast(device.type, torch.bfloat16, enabled={autocast}):
        hidden = {call}
        return head(hidden)

def loss_of(size):
    x = inputs(size)
    {target}
    out = forward(x)
    {recent_line}
    return {loss}
'''

TAIL = '''
for iteration in range(iterations):
    try:
        train(iteration)
    except Trouble:
        optimizer.zero_grad(set_to_none={set_to_none})
{habits}
    if device.type == "cuda":
        reserved.append(torch.cuda.memory_reserved())
        free, total = torch.cuda.mem_get_info()
        used.append(total - free)

def digest(tensor):
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(f"{{tensor.dtype}}{{tuple(tensor.shape)}}".encode() + data).hexdigest()

left = {{"rng": digest(torch.get_rng_state())}}
if device.type == "cpu":
    for i, p in enumerate(parameters):
        left[f"parameter {{i}}"] = digest(p)
        if p.grad is not None: left[f"gradient {{i}}"] = digest(p.grad)
        for key, value in optimizer.state[p].items():
            if isinstance(value, torch.Tensor): left[f"{{key}} {{i}}"] = digest(value)
    for i, b in enumerate([*body.buffers(), *head.buffers()]): left[f"buffer {{i}}"] = digest(b)
    for i, t in enumerate([*kept, *recent]): left[f"kept {{i}}"] = digest(t)
print(json.dumps({{"digests": left, "losses": losses if device.type == "cpu" else [], "reserved": reserved, "used": used,
                  "peak_reserved": torch.cuda.max_memory_reserved() if device.type == "cuda" else 0}}))
'''


def train_function(draw: random.Random, has: set[str]) -> str:
    """One iteration: micro-steps with their backward passes, then the optimizer."""
    size, groups = draw.choice([24, 32, 48]), draw.choice([2, 3, 4]) if "accumulate" in has else 1
    odd, short = draw.choice([7, 9, 11]), draw.choice([1, 2])
    raise_at = [f"iteration % {draw.choice([23, 31, 37])} == {draw.randrange(12, 20)}" for _ in range(2)]
    lines = ["def train(iteration):", f"    size, groups = {size}, {groups}"]
    if "other_size" in has:
        lines.append(f"    if iteration % {odd} == {odd - 1}: size = {size // draw.choice([2, 3])}")
    if "accumulate" in has and "short_group" in has:
        lines.append(f"    if iteration % {odd + 2} == {odd + 1}: groups = {short}")
    lines.append("    for _ in range(groups):")
    lines.append("        loss = loss_of(size) / groups")
    if "trouble" in has:
        lines.append(f"        if {raise_at[0]}: raise Trouble")
    lines.append("        loss.backward()")
    if "trouble" in has:
        lines.append(f"    if {raise_at[1]}: raise Trouble")
    if "clip" in has:
        lines.append("    nn.utils.clip_grad_norm_(parameters, 1.0)")
    lines.append("    note(loss)")
    if "critic" in has:
        lines.append("    critic_step(iteration)")
    lines.append("    optimizer.step()")
    lines.append(f"    optimizer.zero_grad(set_to_none={'keep_gradients' not in has})")
    return "\n".join(lines) + "\n"


CRITIC = '''
critic = nn.Sequential(nn.Linear(16, 32 * SCALE), nn.LeakyReLU(0.2), nn.Linear(32 * SCALE, 1)).to(device)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
def critic_step(iteration):
    """A Wasserstein critic with gradient penalty; every {often}th iteration it judges more."""
    size = {size} * (2 if iteration % {often} == 0 else 1)
    with torch.no_grad(): fake = forward(inputs(size)).float()
    real = torch.randn(size * BATCH, 16, device=device, requires_grad=True)
    penalty, = torch.autograd.grad(critic(real).sum(), real, create_graph=True)
    loss = critic(fake).mean() - critic(real).mean() + (penalty.norm(2, dim=1) - 1).square().mean()
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    note(loss)
'''

HABITS = {
    "evaluate": '''    if iteration % {every} == {every} - 1:
        body.eval()
        with torch.no_grad(): note(loss_of({size} * {more}))
        body.train()''',
    "keep_some": "    if iteration % {rare} == 5: kept.append(torch.cat([p.detach().reshape(-1)[:64] for p in parameters]))",
    "keep_activation": '''    if iteration == {rare}:
        with torch.no_grad(): kept.append(forward(inputs({size})))''',
    "save": "    if iteration % {rare} == 3: torch.save(body.state_dict(), io.BytesIO())",
    "average": '''    with torch.no_grad():
        if iteration == 2: average = [p.clone() for p in parameters]
        if iteration > 2: torch._foreach_lerp_(average, parameters, 0.01)''',
    "schedule": "    for group in optimizer.param_groups: group['lr'] *= 0.99",
    "empty_cache": "    if device.type == 'cuda' and iteration % {rare} == 0: torch.cuda.empty_cache()",
    "metric": '''    if iteration % 5 == 0:
        with torch.no_grad(): note(forward(inputs({size})).softmax(1).topk(3).values.sum())''',
}
TRAIN = ("accumulate", "short_group", "other_size", "trouble", "clip", "critic", "keep_gradients", "checkpoint",
         "autocast", "recent")


def source(seed: int) -> str:
    draw = random.Random(seed)
    model = draw.choice(list(MODELS))
    has = {name for name in TRAIN if draw.random() < 0.3} | {name for name in HABITS if draw.random() < 0.3}
    if "trouble" in has and "keep_gradients" in has:
        has.discard("trouble")
    numbers = {"width": draw.choice([32, 48, 64]), "depth": draw.choice([2, 3, 5]), "dropout": draw.choice([0.0, 0.1]),
               "activation": draw.choice(["GELU", "ReLU", "SiLU", "Tanh"]), "cell": draw.choice(["LSTM", "GRU"]),
               "function": draw.choice(["gelu", "relu", "silu"])}
    habit_numbers = {"every": draw.choice([2, 3, 5]), "rare": draw.choice([17, 29, 41]), "size": draw.choice([32, 64]),
                     "more": draw.choice([1, 2, 3])}
    classify = draw.random() < 0.5
    parts = PARTS.format(
        optimizer=draw.choice(OPTIMIZERS), autocast="autocast" in has, recent=draw.choice([2, 3, 5]),
        call="checkpoint(body, x, use_reentrant=False)" if "checkpoint" in has else "body(x)",
        target=f"y = torch.{'randint(0, 16, (size * BATCH,)' if classify else 'randn(size * BATCH, 16'}, device=device)",
        loss="nn.functional.cross_entropy(out, y)" if classify else "(out - y).square().mean()",
        recent_line="recent.append(out.detach())" if "recent" in has else "")
    critic = CRITIC.format(size=habit_numbers["size"], often=habit_numbers["every"]) if "critic" in has else ""
    habits = "\n".join(HABITS[name].format(**habit_numbers) for name in HABITS if name in has)
    summary = ", ".join([model, *(name.replace("_", " ") for name in (*TRAIN, *HABITS) if name in has)])
    return (HEAD.format(seed=seed, summary=summary, scale=(SCALE, BATCH)) + MODELS[model].format(**numbers) + parts + critic
            + train_function(draw, has) + TAIL.format(habits=habits, set_to_none="keep_gradients" not in has))


def summary(seed: int) -> str:
    return source(seed).split('"""', 2)[1].split(": ", 1)[1].rstrip(".")
