"""Trains a character-level GPT on the text of Python's own standard library. Plain PyTorch; no download needed.

    python examples/char_gpt.py                       # CPU, about 0.1 s an iteration on two cores
    python examples/char_gpt.py --device cuda --layers 12 --width 768 --heads 12 --context 1024
    STOWAGE=1 python examples/char_gpt.py             # the same job, planned

The same seed gives the same losses, bit by bit, on the same machine.
"""

import argparse
import pathlib
import sysconfig
import time

import torch
from torch import nn
from torch.nn import functional as F


def read_corpus(limit: int) -> str:
    """The first `limit` characters of the standard library's modules, in order of their names."""
    pieces, total = [], 0
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        piece = path.read_text(encoding="utf-8", errors="ignore")
        pieces.append(piece)
        total += len(piece)
        if total >= limit:
            break
    return "".join(pieces)[:limit]


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attend(self.norm_attention(x)))
        return x + self.drop(self.mlp(self.norm_mlp(x)))


class CharGpt(nn.Module):
    def __init__(self, vocabulary: int, layers: int, width: int, heads: int, context: int, dropout: float):
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.head(self.norm(self.blocks(self.characters(ids) + self.positions(places))))


def draw_batch(corpus: torch.Tensor, batch: int, context: int, generator: torch.Generator):
    """`batch` pieces of the corpus and the same pieces one character later."""
    starts = torch.randint(len(corpus) - context - 1, (batch, 1), generator=generator)
    ids = corpus[starts + torch.arange(context + 1)]
    return ids[:, :-1], ids[:, 1:]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--print-every", type=int, default=20, help="iterations between two printed losses")
    parser.add_argument("--save", metavar="FILE", help="write losses, model, gradients, optimizer and RNG state")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = torch.device(arguments.device)

    text = read_corpus(1_000_000)
    vocabulary = sorted(set(text))
    index = {character: number for number, character in enumerate(vocabulary)}
    corpus = torch.tensor([index[character] for character in text])
    draw = torch.Generator().manual_seed(arguments.seed)

    model = CharGpt(len(vocabulary), arguments.layers, arguments.width, arguments.heads, arguments.context,
                    arguments.dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)

    losses, iteration_ms, printed = [], [], 0
    for iteration in range(1, arguments.iterations + 1):
        started = time.perf_counter()
        ids, targets = draw_batch(corpus, arguments.batch, arguments.context, draw)
        logits = model(ids.to(device))
        loss = F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        iteration_ms.append((time.perf_counter() - started) * 1e3)
        if iteration % arguments.print_every == 0 or iteration == arguments.iterations:
            mean_ms = sum(iteration_ms[printed:]) / (iteration - printed)
            print(f"iteration {iteration:5d}  loss {losses[-1]:.6f}  {mean_ms:7.1f} ms/iteration", flush=True)
            printed = iteration

    if arguments.save:
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        rng = {"cpu": torch.get_rng_state()}
        if arguments.device == "cuda":
            rng["cuda"] = torch.cuda.get_rng_state()
        saved = {"losses": losses, "iteration_ms": iteration_ms, "model": model.state_dict(), "gradients": gradients,
                 "optimizer": optimizer.state_dict(), "rng": rng}
        if arguments.device == "cuda":
            saved["cuda_memory"] = {"peak": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
        torch.save(saved, arguments.save)


if __name__ == "__main__":
    main()
