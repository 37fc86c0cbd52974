"""timm: one of its models with mixup, an averaged copy, its optimizers and its schedules. Argument: the model's name."""

import sys

import numpy
import timm
import torch
from left import DEVICE, LONG, SCALE, Left, batches
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, random_seed

STEPS = 24 * LONG
SIZE, BATCH = 128, 16 * SCALE

name = sys.argv[1]
random_seed(0)
numpy.random.seed(0)
size = {"img_size": SIZE} if "vit" in name else {}
model = timm.create_model(name, num_classes=10, drop_path_rate=0.1, **size).to(DEVICE)
average = ModelEmaV3(model, decay=0.99)
optimizer = create_optimizer_v2(model, opt="lamb" if "vit" in name else "adamw", lr=1e-3, weight_decay=0.05)
schedule = CosineLRScheduler(optimizer, t_initial=STEPS, warmup_t=4)
mixup, criterion = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=10), SoftTargetCrossEntropy()
left = Left(STEPS)
for number, (images, targets) in enumerate(zip(batches(STEPS, BATCH, 3, SIZE, SIZE), batches(STEPS, BATCH, below=10))):
    images, targets = images.to(DEVICE), targets.to(DEVICE)
    mixed, soft = mixup(images, targets) if DEVICE == "cpu" else (images, torch.nn.functional.one_hot(targets, 10).float())
    loss = criterion(model(mixed), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model, step=number)
    schedule.step(number)
    left.step(loss)
    if number % 6 == 5:
        average.module.eval()
        with torch.inference_mode():
            left.note(average.module(images).sum())
left.tell(average.module)
