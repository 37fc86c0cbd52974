"""Records the zoo's full-size jobs on the simulated device, as benchmarks/instances/zoo/NAME.stowtrace.

    python benchmarks/planner/record_zoo.py                 # all jobs, some minutes
    python benchmarks/planner/record_zoo.py lstm gpt2_x12   # some; _x12: in twelve micro-batches

The traces are kept with the repository, so that placement can be measured where there is no torch.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.zoo import harness, models

FOLDER = ROOT / "benchmarks" / "instances" / "zoo"
ITERATIONS = 6
IN_MICRO_BATCHES = ("gpt2_x12", "llama_x12", "bert_x16")  # LLMs of 10,000 to 20,000 buffers an iteration


def train(model: str, micro_batches: int) -> None:
    """The job itself, in a process of its own."""
    job = models.build(model, "full", "cuda")
    job.accumulate *= micro_batches
    for iteration in range(ITERATIONS):
        job.step(iteration)


def record(name: str) -> pathlib.Path:
    """Raises AssertionError with the job's output if the job fails, RuntimeError if it left no trace."""
    model, _, micro_batches = name.partition("_x")
    trace = FOLDER / f"{name}.stowtrace"
    script = [str(pathlib.Path(__file__).relative_to(ROOT)), "--train", model, micro_batches or "1"]
    done = harness.run_checked("entry_point", script, device="simulated", extra={"STOWAGE_TRACE": str(trace)})
    if done.report.get("state") != "planned" or not trace.exists():
        raise RuntimeError(f"{name}: {done.report.get('reason') or done.report.get('state') or done.stdout}")
    return trace


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], int(sys.argv[3]))
    else:
        FOLDER.mkdir(exist_ok=True)
        for job_name in sys.argv[1:] or (*models.names(), *IN_MICRO_BATCHES):
            print(f"{job_name}: {record(job_name).stat().st_size} bytes", flush=True)
