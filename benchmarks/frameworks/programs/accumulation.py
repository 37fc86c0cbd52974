"""A plain loop that accumulates gradients over four batches, with a short last group and a validation in each epoch."""

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn

EPOCHS, BATCHES, GROUP, BATCH = 6 * LONG, 22, 4, 16 * SCALE
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(128, 512), nn.LayerNorm(512), nn.GELU(), nn.Dropout(0.1),
                                      nn.Linear(512, 128)) for _ in range(4)), nn.Linear(128, 10)).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
inputs, labels = list(batches(BATCHES, BATCH, 128)), list(batches(BATCHES, BATCH, below=10))
left = Left(EPOCHS * -(-BATCHES // GROUP))
for epoch in range(EPOCHS):
    total = 0.0
    for number, (x, y) in enumerate(zip(inputs, labels), 1):
        loss = nn.functional.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE)) / GROUP
        loss.backward()
        total += loss.item()
        if number % GROUP == 0 or number == BATCHES:
            optimizer.step()
            optimizer.zero_grad()
            left.step(total)
    model.eval()
    with torch.no_grad():
        left.note(sum(model(x.to(DEVICE)).argmax(1).eq(y.to(DEVICE)).sum() for x, y in zip(inputs[:3], labels)))
    model.train()
left.tell(model)
