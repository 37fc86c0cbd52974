"""FSDP2: fully_shard over two ranks with gloo under torchrun, clipping, a state dict of shards and a full one."""

import itertools
import tempfile

import torch
import torch.distributed
import torch.distributed.checkpoint
from left import LONG, Left, batches
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS = 30 * LONG
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
torch.manual_seed(0)


def make() -> nn.Sequential:
    return nn.Sequential(*(nn.Sequential(nn.Linear(128, 256), nn.LayerNorm(256), nn.GELU(), nn.Dropout(0.1),
                                         nn.Linear(256, 128)) for _ in range(6)))


model = make()
for part in (*model, model):
    fully_shard(part, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
left = Left(STEPS)
folder = [tempfile.mkdtemp()]
torch.distributed.broadcast_object_list(folder)
for number, batch in enumerate(itertools.islice(batches(2 * STEPS, 1024, 128), rank, None, 2)):
    loss = model(batch).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    torch.distributed.all_reduce(loss.detach())
    left.step(loss)
    if number == 12:
        torch.distributed.checkpoint.save(model.state_dict(), checkpoint_id=folder[0])
    if number == 20:
        state = model.state_dict()
        torch.distributed.checkpoint.load(state, checkpoint_id=folder[0])
        model.load_state_dict(state)
state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
if rank == 0:
    whole = make()
    whole.load_state_dict(state)
    left.tell(whole)
torch.distributed.barrier()  # at exit PyTorch aborts now and then where a rank is gone already
torch.distributed.destroy_process_group()
