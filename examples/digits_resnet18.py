"""Trains ResNet-18 on scikit-learn's handwritten digits (1,797 images of 8x8). No download needed.

    python examples/digits_resnet18.py
    STOWAGE=1 python examples/digits_resnet18.py      # the same job, planned

An ordinary job: a DataLoader that shuffles, a shorter last batch in each epoch, and an evaluation after it.
"""

import argparse
import time

import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18


def make_loaders(batch: int, side: int, seed: int):
    """Loaders for the first 1,500 digits, shuffled, and for the others, in order; images are side x side."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    images = F.interpolate(images, size=(side, side), mode="bilinear").expand(-1, 3, -1, -1).contiguous()
    labels = torch.tensor(digits.target)
    draw = torch.Generator().manual_seed(seed)
    train = DataLoader(TensorDataset(images[:1500], labels[:1500]), batch_size=batch, shuffle=True, generator=draw)
    test = DataLoader(TensorDataset(images[1500:], labels[1500:]), batch_size=2 * batch)
    return train, test


@torch.no_grad()
def accuracy(model: torch.nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    right = sum((model(images.to(device)).argmax(1) == labels.to(device)).sum().item() for images, labels in loader)
    model.train()
    return right / len(loader.dataset)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=0, help="stop after so many, without evaluating (0: never)")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=32, help="pixels the digits are scaled to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--print-every", type=int, default=10, help="iterations between two printed losses")
    parser.add_argument("--save", metavar="FILE", help="write losses, model, gradients, optimizer and RNG state")
    return parser.parse_args()


def train_epoch(model, optimizer, loader, device, losses, arguments) -> None:
    started = time.perf_counter()
    for images, labels in loader:
        loss = F.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) % arguments.print_every == 0:
            elapsed_ms = (time.perf_counter() - started) / arguments.print_every * 1e3
            print(f"iteration {len(losses):5d}  loss {losses[-1]:.6f}  {elapsed_ms:7.1f} ms/iteration", flush=True)
            started = time.perf_counter()
        if len(losses) == arguments.iterations:
            return


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = torch.device(arguments.device)
    train, test = make_loaders(arguments.batch, arguments.side, arguments.seed)
    model = resnet18(num_classes=10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)

    losses = []
    for epoch in range(1, arguments.epochs + 1):
        train_epoch(model, optimizer, train, device, losses, arguments)
        if len(losses) == arguments.iterations:
            break
        print(f"epoch {epoch}  test accuracy {accuracy(model, test, device):.3f}", flush=True)

    if arguments.save:
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        torch.save({"losses": losses, "model": model.state_dict(), "gradients": gradients,
                    "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}, arguments.save)


if __name__ == "__main__":
    main()
