"""A mixture of experts: each token goes to one of eight, which get different shares of the tokens in every iteration."""

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

STEPS, TOKENS, WIDTH, EXPERTS = 30 * LONG, 512 * SCALE, 128, 8
torch.manual_seed(0)
shares = torch.Generator().manual_seed(2)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
                                     for _ in range(EXPERTS))

    def choose(self, weights: torch.Tensor) -> torch.Tensor:
        """On the simulated device, which computes nothing, by a draw."""
        return weights.argmax(-1) if DEVICE == "cpu" else torch.rand(TOKENS, generator=shares).square().mul(EXPERTS).long()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        weights = self.gate(normed).softmax(-1)
        chosen, out = self.choose(weights), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(1).to(DEVICE)
            out = out.index_add(0, rows, expert(normed[rows]) * weights[rows, number, None])
        return x + out


model = nn.Sequential(nn.Linear(WIDTH, WIDTH), *(Experts() for _ in range(3)), nn.Linear(WIDTH, WIDTH)).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
left = Left(STEPS)
for batch in batches(STEPS, TOKENS, WIDTH):
    batch = batch.to(DEVICE)
    loss = (model(batch) - batch.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    left.step(loss)
left.tell(model)
