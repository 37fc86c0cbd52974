"""Peak memory of real training loops on the simulated device, beside figures measured on real GPUs.

Usage: run in the simulated environment (simulator/README.md):  python simulator/check_against_reality.py > table.md
Each loop runs in a process of its own, three iterations of SGD, with the native allocator and with expandable
segments. Exit status 1 when a peak is more than 0.5 % from the figure that this simulator is known to give: that
figure changes only when the simulated cuDNN or PyTorch does, and then deserves a look.

"real" is what the README of MONeT (ICLR 2021, github.com/utsaslab/MONeT) gives for plain PyTorch with the same model
and batch, in its "GB". It used an older PyTorch and other cuDNN algorithms, and, for all we know, other variants of the
models; docs/results/simulator.md says where the figures part.
"""
import os
import subprocess
import sys

# Model, batch, memory measured on a real GPU, GiB expected here.
CASES = [("resnet50", 184, 15.06, 15.05), ("googlenet", 320, 14.93, 14.63), ("vgg16", 176, 14.12, 13.15),
         ("mobilenet_v2", 272, 14.46, 20.05)]
TOLERANCE = 0.005
GIB = 2**30


def measure(name, batch):
    """Prints peak GiB, reserved GiB and host milliseconds of the last of three iterations."""
    import time

    import torch
    import torchvision
    options = {"aux_logits": True, "init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(**options).cuda()
    images = torch.empty(batch, 3, 224, 224, device="cuda")
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        start = time.perf_counter()
        out = model(images)
        out = out[0] if isinstance(out, tuple) else out  # GoogLeNet's auxiliary outputs are dropped here
        loss = torch.nn.functional.cross_entropy(out, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        host_ms = 1e3 * (time.perf_counter() - start)
    print(torch.cuda.max_memory_allocated() / GIB, torch.cuda.memory_reserved() / GIB, host_ms)


def run(name, batch, expandable):
    """measure() in a new process; returns its three numbers."""
    environment = {**os.environ, "PYTORCH_ALLOC_CONF": f"expandable_segments:{expandable}"}
    done = subprocess.run([sys.executable, __file__, name, str(batch)], env=environment, check=True,
                          capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def main():
    print("| model, batch | peak GiB, simulated | peak GiB, real | difference | reserved, native "
          "| reserved, expandable | host ms per iteration |")
    print("|---|---|---|---|---|---|---|")
    wrong = []
    for name, batch, real, expected in CASES:
        peak, reserved, host_ms = run(name, batch, False)
        _, expandable, _ = run(name, batch, True)
        cells = [f"{name}, {batch}", f"{peak:.2f}", f"{real}", f"{100 * (peak / real - 1):+.1f} %", f"{reserved:.2f}",
                 f"{expandable:.2f}", f"{host_ms:.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        if abs(peak / expected - 1) > TOLERANCE:
            wrong.append(f"{name}: {peak:.2f} GiB, expected {expected}")
    if wrong:
        sys.exit("; ".join(wrong))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        main()
