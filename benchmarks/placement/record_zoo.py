"""Records the zoo's full-size jobs on the simulated device, as benchmarks/instances/zoo/NAME.stowtrace.

    .venv/bin/python benchmarks/placement/record_zoo.py            # all models, some minutes
    .venv/bin/python benchmarks/placement/record_zoo.py lstm gpt2

The traces are kept with the repository, so that placement can be measured where there is no torch.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.zoo import harness, steady

FOLDER = ROOT / "benchmarks" / "instances" / "zoo"
ITERATIONS = 6


def record(model: str) -> pathlib.Path:
    """Raises AssertionError with the job's output if the job fails, RuntimeError if it left no trace."""
    trace = FOLDER / f"{model}.stowtrace"
    options = ["--size", "full", "--iterations", str(ITERATIONS), "--no-digests", "--any-algorithm"]
    outcome = harness.run_model(model, "entry_point", device="simulated", options=options,
                                extra={"STOWAGE_TRACE": str(trace)})
    if outcome.report.get("state") != "planned" or not trace.exists():
        raise RuntimeError(f"{model}: {outcome.report.get('reason') or outcome.report.get('state') or outcome.output}")
    return trace


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or (*steady.MODELS, "resnet50_b184"):
        print(f"{name}: {record(name).stat().st_size} bytes", flush=True)
