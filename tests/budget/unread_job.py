"""`python -m tests.budget.unread_job ITERATIONS`: ops that read only the sizes of a tensor (recompute/ops/unread.cc), with
backward passes, on the simulated device. Prints what that has seen.
"""

import json
import sys

import torch
from torch.nn import functional as F

from tests.budget import cuda_job

torch.set_default_device("cuda")
FLAT, IMAGE, BODY = (torch.zeros(*size, requires_grad=True) for size in ((2, 4, 64), (2, 4, 33, 33), (2, 4, 9, 17, 17)))
WEIGHT, WEIGHT_3D = torch.zeros(8, 4, 3, 3, requires_grad=True), torch.zeros(8, 4, 3, 3, 3, requires_grad=True)
POOLS = [
    (IMAGE, lambda x: F.max_pool2d(x, 2)), (BODY, lambda x: F.max_pool3d(x, 2)), (IMAGE, lambda x: F.avg_pool2d(x, 2)),
    (BODY, lambda x: F.avg_pool3d(x, 2)), (IMAGE, lambda x: F.adaptive_max_pool2d(x, 3)),
    (BODY, lambda x: F.adaptive_max_pool3d(x, 3)), (IMAGE, lambda x: F.adaptive_avg_pool2d(x, 3)),
    (BODY, lambda x: F.adaptive_avg_pool3d(x, 3)), (IMAGE, lambda x: F.fractional_max_pool2d(x, 2, output_size=7)),
    (BODY, lambda x: F.fractional_max_pool3d(x, 2, output_size=5))]
PADS = [(tensor, lambda x, mode=mode, sides=sides: F.pad(x, (1,) * sides, mode=mode))
        for mode in ("reflect", "replicate") for tensor, sides in ((FLAT, 2), (IMAGE, 4), (BODY, 6))]
LOSSES = [(FLAT, lambda x: F.nll_loss(x.view(64, 8), torch.zeros(64, dtype=torch.long))),
          (IMAGE, lambda x: F.nll_loss(x, torch.zeros(2, 33, 33, dtype=torch.long)))]
CONVOLUTIONS = [
    (IMAGE, lambda x: F.conv2d(x, WEIGHT)), (IMAGE, lambda x: F.conv2d(x, WEIGHT.detach())),
    (IMAGE, lambda x: F.conv2d(x.detach(), WEIGHT)), (IMAGE, lambda x: F.conv2d(x, WEIGHT[:, :1], groups=4)),
    (IMAGE, lambda x: F.conv2d(x, WEIGHT.detach(), dilation=2)), (BODY, lambda x: F.conv3d(x, WEIGHT_3D.detach())),
    (IMAGE, lambda x: F.conv_transpose2d(x, WEIGHT.transpose(0, 1).detach()))]


def forms_of(x: torch.Tensor):
    yield x * 2
    if x.dim() == 4:
        yield (x * 2).to(memory_format=torch.channels_last)


def main(iterations: int) -> None:
    for _ in range(iterations):
        for source, op in POOLS + PADS + LOSSES + CONVOLUTIONS:
            for form in forms_of(source):
                result = op(form) * 1
                try:
                    result.backward(torch.zeros_like(result))
                except RuntimeError as error:  # a few kernels want the gradient in another layout
                    if "contiguous" not in str(error):
                        raise
    print(json.dumps(cuda_job.seen_by_the_simulator()))


main(int(sys.argv[1]))
