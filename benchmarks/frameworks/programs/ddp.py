"""torch DDP: two ranks with gloo under torchrun, gradient accumulation by no_sync, buckets as views, a checkpoint."""

import io
import itertools

import torch
import torch.distributed
from left import LONG, Left, batches
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 30 * LONG
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(
    *(nn.Sequential(nn.Linear(128, 256), nn.BatchNorm1d(256), nn.GELU(), nn.Linear(256, 128)) for _ in range(6))),
    gradient_as_bucket_view=True, static_graph=False)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
left = Left(STEPS)
for number, batch in enumerate(itertools.islice(batches(2 * STEPS, 1024, 128), rank, None, 2)):
    if number % 3 == 2:
        with model.no_sync():
            model(batch).square().mean().backward()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.distributed.all_reduce(loss.detach())
    left.step(loss)
    if number % 10 == 9 and rank == 0:
        torch.save(model.state_dict(), io.BytesIO())
if rank == 0:
    left.tell(model)
torch.distributed.barrier()  # at exit PyTorch aborts now and then where a rank is gone already
torch.distributed.destroy_process_group()
