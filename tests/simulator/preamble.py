# Stands before every script that tests run on the simulated device.
import ctypes
import torch
import torch.nn as nn
import torch.nn.functional as F


class Counters(ctypes.Structure):
    """stowage_sim_counters_t of simulator/device/counters.h."""
    _fields_ = [(name, ctypes.c_int64) for name in (
        "launches", "copies", "mallocs", "frees", "vmm_calls", "synchronizations", "out_of_memory", "misuses",
        "used_bytes", "peak_bytes", "host_ns", "device_ns", "host_allocations", "not_ready")]


def counters():
    seen = Counters()
    ctypes.CDLL(None).stowage_sim_counters(ctypes.byref(seen))
    return seen


def train(model, loss, optimizer=lambda p: torch.optim.AdamW(p), iterations=4, amp=None, scaled=False):
    """Trains on the device, checks that the steady iterations ask the driver for nothing and break no rule."""
    model = model.cuda()
    steps = optimizer(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=scaled)
    for iteration in range(iterations):
        before = counters()
        with torch.autocast("cuda", dtype=amp or torch.float16, enabled=amp is not None):
            value = loss(model)
        scaler.scale(value).backward()
        scaler.step(steps)
        scaler.update()
        steps.zero_grad()
        torch.cuda.synchronize()
    after = counters()
    assert value.item() == 0 and all(p.grad is None for p in model.parameters())
    assert after.launches > before.launches and after.mallocs == before.mallocs, "the last iteration is not steady"
    assert after.misuses == 0
    assert torch.cuda.max_memory_allocated() > sum(p.numel() * p.element_size() for p in model.parameters())


def classify(batch=2, size=64, classes=1000):
    """A loss for image classifiers on made data."""
    images = torch.empty(batch, 3, size, size, device="cuda")
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")

    def loss(model):
        out = model(images)
        return F.cross_entropy(out[0] if isinstance(out, tuple) else out, labels)
    return loss


def predict_tokens(batch=2, length=64):
    """A loss for `transformers` language models on made data."""
    tokens = torch.zeros(batch, length, dtype=torch.long, device="cuda")
    return lambda model: model(input_ids=tokens, labels=tokens).loss
