"""torch.compile: a model with a graph break, and batches of two lengths. With inductor on the CPU, else with aot_eager."""

import shutil

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

STEPS = 30 * LONG
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 256, 0.1, batch_first=True) for _ in range(4))
        self.seen = 0

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number == 1:
                torch._dynamo.graph_break()
        return x


model = Net().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
backend = "inductor" if DEVICE == "cpu" and shutil.which("g++") else "aot_eager"  # no Triton for the simulated device
compiled = torch.compile(model, backend=backend)
left = Left(STEPS)
for number, batch in enumerate(batches(STEPS, 16 * SCALE, 64, 64)):
    batch = (batch[:12 * SCALE] if number % 10 == 9 else batch).to(DEVICE)
    loss = compiled(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    left.step(loss)
left.tell(model)
