"""Jobs in which memory that ops read comes and goes without an op, as FSDP2's gathered parameters do: added to JOBS of
jobs.py.
"""

import torch
from torch import nn

from tests.budget.jobs import _job
from tests.recompute import jobs


class Sharded(nn.Module):
    """Its weight is whole only while it computes: its storage is emptied behind each pass, and filled before the next."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.shard = nn.Parameter(torch.randn(hidden, width) / width ** 0.5)
        self.back = nn.Linear(hidden, width)
        self.__dict__["_whole"] = nn.Parameter(self.shard.detach().clone())  # not one of the module's parameters
        self._whole.register_post_accumulate_grad_hook(self._hand_over)
        self._empty()

    def _fill(self) -> None:
        self._whole.untyped_storage().resize_(self._whole.nbytes)
        with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(self._whole):
            self._whole.copy_(self.shard)

    def _empty(self) -> None:
        self._whole.untyped_storage().resize_(0)

    def _hand_over(self, whole: nn.Parameter) -> None:
        self.shard.grad, whole.grad = whole.grad, None
        self._empty()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._fill()
        hidden = nn.functional.linear(x, self._whole)
        x = self.back(nn.functional.dropout(nn.functional.gelu(nn.functional.layer_norm(hidden, hidden.shape[-1:])), 0.1))
        self._empty()
        x.register_hook(lambda grad: self._fill())
        return x


@_job
def sharded_perceptron():
    model = nn.Sequential(*(Sharded(64, 128) for _ in range(6)))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def step(_: int) -> list[float]:
        loss = model(torch.randn(1024, 64)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return [loss.item()]
    return jobs.Trainer([model], [optimizer], step)
