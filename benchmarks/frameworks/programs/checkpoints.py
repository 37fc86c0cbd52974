"""A plain loop that saves with torch.save and safetensors, and goes on from what it saved."""

import pathlib
import tempfile

import torch
from left import DEVICE, LONG, SCALE, Left, batches
from safetensors.torch import load_model, save_model
from torch import nn

STEPS = 30 * LONG
torch.manual_seed(0)


def make():
    model = nn.Sequential(nn.Embedding(512, 128), *(nn.TransformerEncoderLayer(128, 4, 256, 0.1) for _ in range(4)),
                          nn.Linear(128, 512, bias=False))
    model[-1].weight = model[0].weight
    model.to(DEVICE)
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


model, optimizer = make()
left = Left(STEPS)
folder = pathlib.Path(tempfile.mkdtemp())
for number, batch in enumerate(batches(STEPS, 64, 8 * SCALE, below=512)):
    batch = batch.to(DEVICE)
    loss = nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.roll(1, 0).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    left.step(loss)
    if number % 5 == 4:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss}, folder / f"{number}.pt")
        save_model(model, folder / f"{number}.safetensors")
    if number == 17:
        model, optimizer = make()
        saved = torch.load(folder / "14.pt", mmap=True, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    if number == 23:
        load_model(model, folder / "19.safetensors")
left.tell(model)
