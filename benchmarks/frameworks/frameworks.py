"""Programs written for other libraries, run as they are: plain, planned, and in 70 % of their own peak.

    python benchmarks/frameworks/frameworks.py                               # every program in every mode
    python benchmarks/frameworks/frameworks.py --programs ddp,fsdp2 --modes plain,budget
    python benchmarks/frameworks/frameworks.py --write                       # and writes docs/results/frameworks.md

The programs know nothing of Stowage. They need requirements.txt beside this file, which nothing else does. Exits with
1 where one leaves other bits than without Stowage, fails, or reserves more than it would on the simulated device.
"""

import concurrent.futures
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.pages import Page
from tests.plugin.cuda import simulated_job

PAGE = Page(__file__)
PROGRAM_FOLDER = ROOT / "benchmarks" / "frameworks" / "programs"
PACKAGES = ("torch", "transformers", "accelerate", "lightning", "peft", "timm", "safetensors", "nbclient", "ipykernel")
TIMM = ("test_vit", "test_convnext", "test_efficientnet", "test_resnet", "test_mambaout", "test_nfnet")  # small ones
RANKS = ("ddp", "fsdp2")  # two, by torchrun; with gloo on the CPU alone
ALONE = ("trainer_gpt2", "trainer_bert", "trainer_t5", "accelerate_loop", "lightning_trainer", "lightning_manual",
         "peft_lora", "compiled", "checkpoints", "notebook")
PROGRAMS = {name: [f"{name}.py"] for name in ALONE} | {f"timm {name[5:]}": ["timm_models.py", name] for name in TIMM} | {
    name: ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", f"{name}.py"] for name in RANKS}
STOWAGE = {"STOWAGE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
MODES = {
    "plain": {}, "planned": STOWAGE | {"STOWAGE_DEVICES": "cpu"},
    "budget": STOWAGE | {"STOWAGE_DEVICES": "cpu", "STOWAGE_BUDGET": "70%"},
    "native": {}, "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "stowage": STOWAGE | {"STOWAGE_DEVICES": "cuda"}}
ON_CUDA = ("native", "expandable", "stowage")
MOST = 1.01  # of the better of PyTorch's allocators
SLACK = 4 << 20  # bytes above it that a small job may reserve: two pages
MIB = 1 << 20


@dataclass
class Outcome:
    status: int
    seconds: float
    left: dict = field(default_factory=dict)  # what left.py told
    reports: list = field(default_factory=list)  # Stowage's, one for each process
    said: list = field(default_factory=list)  # what Stowage wrote to standard error
    errors: str = ""


def environment(mode: str, folder: str) -> dict[str, str]:
    names = ("STOWAGE", "PYTORCH_")
    found = {key: value for key, value in os.environ.items() if not key.startswith(names)}
    if mode in ON_CUDA:
        found = simulated_job.environment()
    return found | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
                    "PYTHONPATH": str(ROOT / "python"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} | MODES[mode] | (
                        {"STOWAGE_REPORT": f"{folder}/report.json"} if "STOWAGE" in MODES[mode] else {})


def run(program: str, mode: str, limit_s: int = 600) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        try:
            done = subprocess.run([sys.executable, *PROGRAMS[program]], env=environment(mode, folder), cwd=PROGRAM_FOLDER,
                                  text=True, capture_output=True, timeout=limit_s)
        except subprocess.TimeoutExpired as expired:
            return Outcome(-1, limit_s, errors=f"{expired}: {(expired.stderr or b'')[-2000:]!r}")
        reports = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("report*.json"))]
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"losses"')]
    said = [line for line in done.stderr.splitlines() if "stowage: " in line]
    left = json.loads(lines[-1]) if lines else {}
    return Outcome(done.returncode, time.monotonic() - begin, left, reports, said, done.stderr)


Outcomes = dict[tuple[str, str], Outcome]


def run_all(programs: list[str], modes: list[str], jobs: int) -> Outcomes:
    wanted = [(program, mode) for program in programs for mode in modes if mode not in ON_CUDA or program not in RANKS]
    outcomes: Outcomes = {}

    def one(key: tuple[str, str]) -> None:
        outcomes[key] = outcome = run(*key)
        print(f"{key[0]:18} {key[1]:10} status {outcome.status:3} {outcome.seconds:6.1f} s  {states(outcome)}",
              file=sys.stderr, flush=True)
        for line in outcome.said:
            print("    " + line, file=sys.stderr, flush=True)
        if outcome.status or not outcome.left:
            print(outcome.errors[-3000:], file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, wanted))
    return outcomes


def state(report: dict) -> str:
    """How a process ended, in few words."""
    text = report.get("state", "none") + (f": {report['reason']}" if report.get("reason") else "")
    budget = report.get("budget") or {}
    if budget.get("own_peak_bytes"):
        text += f", {budget['peak_held_bytes'] / MIB:.1f} of {budget['own_peak_bytes'] / MIB:.1f} MiB"
    return text


def states(outcome: Outcome) -> str:
    return " / ".join(map(state, outcome.reports))


def bits(plain: Outcome, other: Outcome) -> str:
    if other.status or not other.left:
        return "**failed**"
    same = all(plain.left.get(key) == other.left[key] for key in ("losses", "parameters", "steps"))
    return "same" if same else "**other**"


def reserved(row: dict[str, Outcome]) -> tuple[int, bool]:
    """What Stowage reserves, and whether that is more than it may be."""
    better = min(row[mode].left["reserved"] for mode in ("native", "expandable"))
    own = row["stowage"].left["reserved"]
    return own, own > MOST * better and own > better + SLACK


def line(program: str, row: dict[str, Outcome]) -> str:
    cells = [program]
    for mode in ("planned", "budget"):
        if mode in row and "plain" in row:
            cells += [bits(row["plain"], row[mode]), states(row[mode])]
        else:
            cells += ["–", "–"]
    for mode in ON_CUDA:
        cells.append(f"{row[mode].left['reserved'] / MIB:,.0f}" if mode in row and row[mode].left else
                     "**failed**" if mode in row else "–")
    cells.append(states(row["stowage"]) if "stowage" in row else "–")
    return "| " + " | ".join(cells) + " |"


def faults(program: str, row: dict[str, Outcome]) -> list[str]:
    found = [f"{program} {mode} ({outcome.status})" for mode, outcome in row.items() if outcome.status or not outcome.left]
    found += [f"{program} {mode} (other bits)" for mode in ("planned", "budget")
              if mode in row and "plain" in row and bits(row["plain"], row[mode]) == "**other**"]
    if all(mode in row and row[mode].left for mode in ON_CUDA) and reserved(row)[1]:
        found.append(f"{program} (reserved)")
    return found


def table(rows: dict[str, dict[str, Outcome]]) -> str:
    head = ("program", "planned", "state at the end", "in 70 %", "state, held of own peak", *ON_CUDA, "state on the device")
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
                      *(line(program, row) for program, row in rows.items())]) + "\n"


def verdict(rows: dict[str, dict[str, Outcome]]) -> str:
    found = [fault for program, row in rows.items() for fault in faults(program, row)]
    return f"No program worse off, none with other bits: {'missed by ' + ', '.join(found) if found else 'reached'}.\n"


def summary(file: str) -> str:
    return " ".join((PROGRAM_FOLDER / file).read_text().split('"""')[1].split())


def page(rows: dict[str, dict[str, Outcome]]) -> str:
    files = dict.fromkeys(word for program in rows for word in PROGRAMS[program] if word.endswith(".py"))
    about = "\n".join(f"- `{file}`: {summary(file)}" for file in files)
    said = sorted({line for row in rows.values() for outcome in row.values() for line in outcome.said})
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return f"""# Programs of others

{PAGE.origin()}

With {versions}.

{table(rows)}
*Planned* and *in 70 %*: losses and parameters on the CPU, with `STOWAGE=1` and with `STOWAGE_BUDGET=70%` of the program's
own peak as well, against those without Stowage. The last columns are of the simulated device of 80 GiB
(`simulator/README.md`), in MiB: the most that `torch.cuda.max_memory_reserved()` was in the last third of the iterations.

{about}

What Stowage wrote to standard error in all runs: {'; '.join(f'`{line}`' for line in said) or 'nothing'}.

{verdict(rows)}"""


def main() -> int:
    parser = PAGE.parser(__doc__, quick="one program, plain and planned")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, with commas")
    parser.add_argument("--modes", default=",".join(MODES), help=f"of {', '.join(MODES)}")
    parser.add_argument("--jobs", type=int, default=2, help="at the same time")
    options = PAGE.parse(parser, "programs", "modes")
    programs, modes = options.programs.split(","), options.modes.split(",")
    if options.quick:
        programs, modes = ["checkpoints"], ["plain", "planned"]
    outcomes = run_all(programs, modes, options.jobs)
    rows = {program: {mode: outcomes[program, mode] for mode in MODES if (program, mode) in outcomes}
            for program in programs}
    print(table(rows) + "\n" + verdict(rows), end="")
    PAGE.write(options, page(rows))
    return 1 if "missed by" in verdict(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
