"""All steps of the suite, in the order in which they are worth most: a call that ends early has told the most important.

First what makes everything else moot; then one of each kind; then the rest, kind by kind.
"""

from tools.gpu import budgets, costs, drop_in, largest_batch, memory_and_time, nothing_set, op_times, safety
from tools.gpu.suite import Step

PARTS = (drop_in, memory_and_time, budgets, largest_batch, safety, nothing_set, op_times, costs)
FIRST = (
    "load", "C++ tests", "doors gpt2_small", "drop-in resnet50", "memory and time gpt2_small", "hot path",
    "hazard two_streams", "budget bits gpt2_small", "drop-in others", "memory and time resnet50",
    "memcheck control", "memcheck planned", "op times", "budgets gpt2_medium 66, 50",
    # about here a first call ends
    "hazard captured_step", "hazard prefetched", "hazard mem_pool", "hazard graphed_model", "compile default",
    "memory and time llama_1b", "memory and time bert_base", "start-up", "recording",
    "budgets resnet50_b184 66, 50", "largest batch gpt2_medium", "memcheck budget",
    # and here a second
    "memory and time gpt2_medium", "memory and time vit_b16", "budget bits others", "budget bits llama_1b",
    "budget bits gpt2_medium", "offload bits", "nothing set gpt2_small",
    "options gpt2_small", "options resnet50", "compile reduce-overhead", "memcheck plain",
)


def all_steps() -> list[Step]:
    """Each once."""
    found = {name: step for part in PARTS for name, step in part.steps().items()}
    first = [found.pop(name) for name in FIRST]
    kinds = ("budgets", "largest batch", "doors")

    def rank(step: Step) -> int:
        return next((place for place, kind in enumerate(kinds) if step.name.startswith(kind)), len(kinds))
    return [*first, *sorted(found.values(), key=rank)]
