"""The Python half of tools/gpu_check: what is run, what is gone on from, and where the results go.

    python -m tools.gpu.check                     # as tools/gpu_check calls it, with what is built
    python -m tools.gpu.check --dry               # on the simulated device
    python -m tools.gpu.check --list              # the steps, in order, with their estimates

Exit status: 0 all that was run passed; 1 something failed or missed its goal; 3 torch sees no GPU here.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

from tools.gpu import machine, state
from tools.gpu.page import page
from tools.gpu.suite import Run, Suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
NO_GPU = 3
# In a process of its own, so that this one holds nothing of the device.
LOOK = """
import json, platform, torch
found = {"torch": torch.__version__, "python": platform.python_version(), "device": None}
if torch.cuda.is_available():
    found["device"] = torch.cuda.get_device_name()
print(json.dumps(found))
"""


def look(simulated: bool) -> dict:
    """torch, Python and the device's name; that is None where torch sees none."""
    done = subprocess.run([sys.executable, "-c", LOOK], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"error: torch cannot be imported:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    found["warnings"] = done.stderr[-1500:]
    return found | {"device": "the simulated device"} if simulated else found


def slug_of(device: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry", action="store_true", help="use the simulated device")
    parser.add_argument("--seconds", type=float, default=450, help="nothing is begun that would not end in so many")
    parser.add_argument("--fresh", action="store_true", help="do not go on from earlier results")
    parser.add_argument("--again", action="store_true", help="run steps anew that failed or missed their goal")
    parser.add_argument("--only", metavar="WORD", action="append",
                        help="only steps with WORD in their name; with several, with any of them")
    parser.add_argument("--list", action="store_true", help="show the steps and run none")
    parser.add_argument("--out", metavar="FOLDER", type=pathlib.Path, help="where the page and the JSON file are written")
    parser.add_argument("--build", metavar="FOLDER", type=pathlib.Path, default=ROOT / "build-gpu",
                        help="logs and a copy of the JSON file lie here")
    return parser.parse_args(argv)


def show(steps) -> None:
    for step in steps:
        simulated = "–" if step.simulated_s is None else f"{step.simulated_s:.0f} s"
        print(f"{step.estimate_s:4.0f} s  {simulated:>5}  {step.section:16} {step.name}")
    print(f"in all: {sum(step.estimate_s for step in steps):.0f} s on a GPU, "
          f"{sum(step.simulated_s or 0 for step in steps):.0f} s on the simulated device")


def begin(arguments: argparse.Namespace, seen: dict) -> tuple[state.State, pathlib.Path]:
    """The state, gone on from or new, and the page's path."""
    described, sources = machine.describe(), state.sources(ROOT)
    identity = {"sources": sources.pop("digest"), "torch": seen["torch"], "python": seen["python"], "device": seen["device"],
                "driver": described["gpu"].get("driver_version"), "simulated": arguments.dry}
    slug = slug_of(seen["device"])
    name = f"gpu-{slug}.json"
    out = (arguments.out or RESULTS).resolve()
    kept = [out / name, arguments.build / name]
    # A dry run that is not told where to leave its results leaves none, and so has none to go on from.
    fresh = arguments.fresh or arguments.dry and arguments.out is None
    found = state.State(kept, identity) if fresh else state.State.resumed(kept, identity, [RESULTS / name])
    if arguments.again:
        found.forget(("failed", "missed"))
    found.content["machine"] = described | sources
    found.content["calls"].append({"date": str(datetime.date.today()), "seconds": arguments.seconds,
                                   "gpu_uuid": described["gpu"].get("uuid")})
    return found, out / f"gpu-{slug}.md"


def write_page(path: pathlib.Path, content: dict, not_run: dict[str, str], command: str) -> bool:
    """False where it could not be written; the steps go on, and the JSON file has all of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(content, not_run, command))
    except Exception:
        print(f"warning: {path} was not written:\n{traceback.format_exc()}", flush=True)
        return False
    return True


def run_suite(arguments: argparse.Namespace, steps, seen: dict, started: float) -> int:
    found, path = begin(arguments, seen)
    run = Run(arguments.dry, arguments.build)
    wanted = [step for step in steps if not arguments.only or any(word in step.name for word in arguments.only)]
    suite = Suite(wanted, found, run, started + arguments.seconds)
    command = "tools/gpu_check" + (" --dry" if arguments.dry else "")

    def write() -> bool:
        why = {step.name: "not yet" if step in wanted else "not asked for" for step in steps if not found.is_done(step.name)}
        return write_page(path, found.content, why | suite.not_run, command)
    done = sum(found.is_done(step.name) for step in steps)
    if done:
        print(f"going on from {done} steps of an earlier call", flush=True)
    suite.go(write)
    written = write()
    found.save()
    left = [name for name, reason in suite.not_run.items() if reason.startswith("no time")] + suite.of("cut")
    print(f"{len(suite.of('passed'))} passed, {len(suite.of('missed'))} missed a goal, {len(suite.of('failed'))} failed, "
          f"{len(suite.not_run)} not run; {'the page follows' if arguments.shown else path}", flush=True)
    if left:
        print(f"for {len(left)} steps there was no time; call {command} again to go on")
    return suite.exit_status() if written else 1


def main(argv: list[str] | None = None) -> int:
    started = time.monotonic()
    arguments = parse(sys.argv[1:] if argv is None else argv)
    from tools.gpu.order import all_steps  # imports torch
    steps = all_steps()
    if arguments.list:
        show(steps)
        return 0
    seen = look(arguments.dry)
    arguments.shown = arguments.dry and arguments.out is None
    if seen["device"] is None:
        print(f"no GPU: torch {seen['torch']} sees no CUDA device; --dry uses the simulated one\n{seen['warnings']}",
              file=sys.stderr)
        return NO_GPU
    if not arguments.shown:
        return run_suite(arguments, steps, seen, started)
    with tempfile.TemporaryDirectory() as folder:  # a dry run's page is shown, and left nowhere
        arguments.out = pathlib.Path(folder)
        arguments.fresh = True
        status = run_suite(arguments, steps, seen, started)
        print(next(arguments.out.glob("*.md")).read_text())
        return status


if __name__ == "__main__":
    sys.exit(main())
