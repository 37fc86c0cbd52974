"""How the suite trains each model: the options that people train it with, what it needs, and how much memory it takes.

Memory is a rough figure of the plain job on a GPU, at full size, with its context: it decides how many run side by side,
nothing else.
"""

import importlib.util
from dataclasses import dataclass

from tools.gpu import machine
from tools.gpu.jobs import Spec, spec
from tools.gpu.suite import Run

GIB = 1 << 30


@dataclass(frozen=True)
class Recipe:
    model: str
    options: tuple[str, ...]
    gib: float
    deterministic: str = "strict"  # "warn": PyTorch has no deterministic kernel for one of its ops
    needs: str = ""  # a library besides torch
    share: int = 60  # percent of its own peak in which it must run: more where parameters and their state are most of it

    def spec(self, run: Run, *more: object, **named) -> Spec:
        size = () if run.simulated else ("--size", "full")
        return spec(self.model, *self.options, *size, *more, **named)

    @property
    def told(self) -> str:
        """The options in words."""
        words = " ".join(self.options).split("--")[1:]
        return ", ".join(word.strip().replace("-", " ") for word in words) or "float32"

    def lacks(self, _run: Run) -> str:
        missing = self.needs and importlib.util.find_spec(self.needs) is None
        return f"{self.needs} is not installed here" if missing else ""

    def exact(self) -> tuple[str, ...]:
        """The options for bits that repeat."""
        return ("--deterministic", self.deterministic)


AMP = ("--precision", "bfloat16", "--attention", "flash", "--fused")
VISION = "torchvision"
# The six of the drop-in promise; between them they have autocast in both types, flash and memory-efficient attention,
# cuDNN's search for the fastest algorithm, channels last, fused AdamW and gradient accumulation.
RECIPES = {recipe.model: recipe for recipe in (
    Recipe("gpt2_small", AMP, 12),
    Recipe("resnet50", ("--precision", "float16", "--channels-last", "--benchmark"), 6, needs=VISION),
    Recipe("gpt2_medium", (*AMP, "--accumulate", "2"), 14, share=80),
    Recipe("bert_base", ("--attention", "efficient", "--fused"), 12),
    Recipe("vit_b16", AMP, 8),
    Recipe("llama_1b", ("--precision", "pure-bfloat16", "--attention", "flash", "--fused"), 16, share=80),
)}
# One option at a time, on the models that they matter for.
OPTIONS = (
    ("float32", Recipe("gpt2_small", (), 16)),
    ("autocast bfloat16", Recipe("gpt2_small", ("--precision", "bfloat16"), 12)),
    ("autocast float16, GradScaler", Recipe("gpt2_small", ("--precision", "float16"), 12)),
    ("flash attention", Recipe("gpt2_small", ("--precision", "bfloat16", "--attention", "flash"), 12)),
    ("memory-efficient attention", Recipe("gpt2_small", ("--attention", "efficient"), 14)),
    ("fused AdamW", Recipe("gpt2_small", ("--fused",), 16)),
    ("accumulation over 4", Recipe("gpt2_small", ("--accumulate", "4"), 16)),
    ("cuDNN benchmark off", Recipe("resnet50", (), 8, needs=VISION)),
    ("cuDNN benchmark on", Recipe("resnet50", ("--benchmark",), 8, needs=VISION)),
    ("channels last", Recipe("resnet50", ("--channels-last",), 8, needs=VISION)),
)
# Batches lie on the device: what a copy takes would hide what recomputation does.
LIKE_MONET = ("--benchmark", "--resident")
# MONeT's models at its batch sizes, in float32 as it trained them, and two transformers at batches at which activations are
# most of what is held.
BUDGETS = {recipe.model: recipe for recipe in (
    Recipe("gpt2_medium", (*AMP, "--resident", "--batch", "16"), 26),
    Recipe("resnet50_b184", LIKE_MONET, 17, needs=VISION),
    Recipe("bert_large", ("--precision", "bfloat16", "--fused", "--resident", "--batch", "32"), 22),
    Recipe("unet", LIKE_MONET, 17, deterministic="warn"),
    Recipe("vgg16", LIKE_MONET, 20, deterministic="warn", needs=VISION),
    Recipe("googlenet", LIKE_MONET, 18, deterministic="warn", needs=VISION),
    Recipe("mobilenet_v2", LIKE_MONET, 23, needs=VISION),
)}


def how_many(run: Run, gib: float, most: int) -> int:
    """How many jobs of that size run side by side."""
    free = None if run.simulated else machine.free_bytes()
    return most if free is None else max(1, min(most, int(0.9 * free / GIB / gib)))


def swelled(run: Run) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment and options with which also the small models of the simulated device hold mostly activations, as those do
    that need a budget: its memory is mapped in pages of 12 MiB."""
    if not run.simulated:
        return {}, ()
    return {"CUBLAS_WORKSPACE_CONFIG": ":16:8", "STOWAGE_SIM_DNN_WORKSPACE": "1MiB"}, ("--batch", "2048")


def no_room(run: Run, gib: float) -> str:
    """Says that so much is not free on the device, or ""."""
    free = None if run.simulated else machine.free_bytes()
    enough = free is None or gib <= 0.97 * free / GIB
    return "" if enough else f"it takes some {gib:.0f} GiB of the device, {free / GIB:.0f} GiB are free"
