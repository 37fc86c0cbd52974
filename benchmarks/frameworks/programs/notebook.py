"""A notebook: cells in a kernel of Jupyter, one of which runs again and one of which is ended by an error."""

import pathlib

import nbclient
import nbformat

SETUP = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import torch
from left import DEVICE, LONG, SCALE, Left, batches
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 128))
                        for _ in range(6)))
model.to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
left = Left(40 * LONG)
"""
TRAIN = """
for batch in batches(12 * LONG, 1024 * SCALE, 128):
    batch = batch.to(DEVICE)
    output = model(batch)
    loss = output.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    left.step(loss)
loss
"""
FAILS = "model(torch.randn(1024, 64, device=DEVICE))"
LOOKS = "output[:2]"
cells = [SETUP, TRAIN, LOOKS, TRAIN, FAILS, TRAIN, LOOKS, TRAIN.replace("(12", "(4"), "left.tell(model)"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True)
client.execute()
for output in notebook.cells[-1].outputs:
    print(output.get("text", output), end="")
last = [cell.outputs[-1] for cell in notebook.cells if cell.outputs]
errors = [output.ename for output in last if output.output_type == "error"]
assert errors == ["RuntimeError"], errors
