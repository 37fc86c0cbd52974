"""The command `stowage`. Each subcommand is a function here; what it needs is imported when it runs.

Exit status: 0 done; 1 an error, told in one line on standard error, `stowage COMMAND: error: …`; run and dryrun end as
their script does, place has two more for what does not fit, bisect has one for wrong bits that it found.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sys

from stowage import _library
from stowage._library import StowageError


def _script_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", dest="module", action="store_true", help="script is a module's name, as in python -m")
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")


def _execute(options: argparse.Namespace, environment: dict[str, str]) -> int:
    """Becomes `python script …`, so that signals, exit code and the debugger are the script's own."""
    if not options.module and not pathlib.Path(options.script).exists():
        raise StowageError(f"there is no script {options.script}")
    command = [sys.executable, *(["-m"] if options.module else []), options.script, *options.arguments]
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)


def _set(environment: dict[str, str], pairs: list[str]) -> None:
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise StowageError(f"--set takes key=value, but got {pair}; `stowage settings` lists the keys")
        environment["STOWAGE" if key == "enable" else f"STOWAGE_{key.upper()}"] = value


def _check_settings(options: argparse.Namespace, environment: dict[str, str]) -> None:
    """A value that is none is an error before the job starts, whether it was typed or comes from the environment."""
    from stowage import _control
    pairs = dict(pair.split("=", 1) for pair in options.set)
    if getattr(options, "budget", None) is not None:
        pairs["budget"] = environment["STOWAGE_BUDGET"] = options.budget
    if getattr(options, "spill", None) is not None:
        pairs["spill"] = environment["STOWAGE_SPILL"] = os.path.abspath(options.spill)
    _control.settings(**pairs)


def run(options: argparse.Namespace) -> int:
    _library.load()  # a build that does not fit is an error now, not a warning in the job
    environment = dict(os.environ, STOWAGE="1")
    environment.setdefault("STOWAGE_REPORT", "text")
    _set(environment, options.set)
    _check_settings(options, environment)
    return _execute(options, environment)


def bisect(options: argparse.Namespace) -> int:
    """Exit status 3: wrong bits were found, and are explained."""
    from stowage import _bisect
    _library.load()
    if not _registered_entry_point():
        raise StowageError("jobs do not load Stowage by themselves here; install the package, or run tools/setup")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STOWAGE")}
    _set(environment, options.set)
    _check_settings(options, environment)
    environment.setdefault("STOWAGE_PLAN_CACHE", "off")  # each run is to do the same as the one before
    command = _bisect.command_of(options.script, options.arguments, options.module)
    return 3 if _bisect.bisect(command, environment, options.seeds, options.evictions_only) else 0


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?", text.strip(), re.IGNORECASE)
    if not match:
        raise StowageError(f"{text} is not a valid amount of memory; write 80GiB, 512MiB or a number of bytes")
    unit = (match[2] or "").lower()
    base = 1024 if unit.endswith("i") else 1000
    return int(float(match[1]) * base ** ("kmgt".index(unit[0]) + 1 if unit else 0))


def simulator_environment(folder: pathlib.Path, environment: dict[str, str]) -> dict[str, str]:
    """`environment` changed as the simulator's env.json says; ${SIMULATOR} there is `folder`."""
    rules = json.loads((folder / "env.json").read_text())
    changed = {name: value for name, value in environment.items() if name not in rules.get("unset", [])}
    for name, value in rules.get("set", {}).items():
        changed[name] = value.replace("${SIMULATOR}", str(folder))
    for name, value in rules.get("prepend", {}).items():
        value = value.replace("${SIMULATOR}", str(folder))
        changed[name] = f"{value}:{changed[name]}" if changed.get(name) else value
    return changed


def dryrun(options: argparse.Namespace) -> int:
    rules = _library.find("simulator/env.json")
    if rules is None:
        raise StowageError("the simulated device is not built; "
                           "build against a torch with CUDA, with -DSTOWAGE_WITH_SIMULATOR=ON")
    environment = simulator_environment(rules.parent, dict(os.environ, STOWAGE="1", STOWAGE_DEVICES="cuda"))
    environment.setdefault("STOWAGE_REPORT", "text")
    environment["STOWAGE_SIM_MEMORY"] = str(_bytes(options.device_memory))
    environment["STOWAGE_SIM_DEVICES"] = str(options.devices)
    _set(environment, options.set)
    _check_settings(options, environment)
    return _execute(options, environment)


def preload(options: argparse.Namespace) -> int:
    path = _library.find("lib/libstowage_preload.so", "library/preload/libstowage_preload.so")
    if path is None:
        raise StowageError("libstowage_preload.so is not built; run tools/setup, or pip install stowage")
    print(path)
    return 0


def settings(options: argparse.Namespace) -> int:
    from stowage import _control
    rows = _control.settings()
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    width = max(len(row["variable"]) for row in rows)
    for row in rows:
        changed = "" if row["value"] == row["default"] else f"  (now {row['value']})"
        print(f"{row['variable']:<{width}}  {row['help']}\n{'':<{width}}  {row['bounds']}; "
              f"default {row['default'] or 'none'}{changed}")
    return 0


def report(options: argparse.Namespace) -> int:
    from stowage import _control, _report
    reports = {path: _report.read(path) for path in _report.find(options.file)}
    texts = []
    for path, content in reports.items():
        try:
            texts.append(str(_control.Report(content)))
        except StowageError as error:
            raise StowageError(f"{path}: {error}") from None
    print(texts[0] if len(texts) == 1 else _report.side_by_side(reports), end="")
    return 0


def _replay(arguments: list[str], name: str = "stowage replay") -> int:
    """Becomes the offline program, which has its own options and help."""
    path = _library.find("bin/stowage-replay", "replay/stowage-replay")
    found = str(path) if path else shutil.which("stowage-replay")
    if not found:
        raise StowageError("the program stowage-replay is not built; run tools/setup, or pip install stowage")
    sys.stdout.flush()
    os.execv(found, [name, *arguments])


def doctor(options: argparse.Namespace) -> int:
    """What is there and what is not; 0 if the library loads."""
    built = _library.built_for()
    print(f"python          {sys.version.split()[0]} at {sys.executable}")
    print(f"stowage         {built['version'] or 'not built'}, built for torch {built['torch'] or '?'}")
    status = 0
    try:
        library = _library.load()
        print(f"library         {_library.library_path()}, loads")
        print(f"cuda part       {'yes' if hasattr(library, 'stowage_alloc') else 'no'}")
    except StowageError as error:
        print(f"library         {error}")
        status = 1
    for name, candidates in {"preload shim": ("lib/libstowage_preload.so", "library/preload/libstowage_preload.so"),
                             "simulator": ("simulator/env.json",),
                             "replay": ("bin/stowage-replay", "replay/stowage-replay")}.items():
        print(f"{name:<15} {_library.find(*candidates) or 'not built'}")
    entry = "yes" if _registered_entry_point() else "no: STOWAGE=1 has no effect; install the package"
    print(f"entry point     {entry}")
    return status


def _registered_entry_point() -> bool:
    from importlib.metadata import entry_points
    return any(point.value.startswith("stowage.") for point in entry_points(group="torch.backends"))


class _Parser(argparse.ArgumentParser):
    """A command line that is not understood is an error like any other: one line, exit status 1."""

    def error(self, message: str):
        self.exit(1, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def _version() -> str:
    built = _library.built_for()
    return f"stowage {built['version']}, built for torch {built['torch']}" if built["version"] else "stowage, not built"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="stowage", description="Static memory plans for PyTorch training jobs.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, function, text: str) -> argparse.ArgumentParser:
        # No abbreviations: a script's --device would be taken for a mistyped --devices of ours.
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(function=function)
        return command

    runner = add("run", run, "run a training script with Stowage and print the report at its end")
    runner.add_argument("--budget", metavar="BYTES|N%|N%device|least|none",
                        help="the most the job may hold: 12GiB, 50%% of its own peak, 80%%device, or least")
    runner.add_argument("--spill", metavar="FOLDER",
                        help="under a budget on the CPU: what cannot be recomputed cheaply goes to a file in this folder")
    runner.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated")
    _script_arguments(runner)
    dry = add("dryrun", dryrun, "run a CUDA training script on a simulated device and print peak and plan")
    dry.add_argument("--device-memory", default="80GiB", help="memory of the device (default 80GiB)")
    dry.add_argument("--devices", type=int, default=1, help="how many devices there are (default 1)")
    dry.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated")
    _script_arguments(dry)
    finder = add("bisect", bisect, "find the op behind bits that differ under Stowage; exit status 3 if one is found")
    finder.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds of forced evictions to try (default 5)")
    finder.add_argument("--evictions-only", action="store_true", help="do not replay recipes at once before that")
    finder.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated")
    _script_arguments(finder)
    add("preload", preload, "print the path of the library for LD_PRELOAD")
    lister = add("settings", settings, "list all settings with default, bounds and help")
    lister.add_argument("--json", action="store_true", help="as JSON")
    add("report", report, "print a saved report as a table, or those of several processes side by side").add_argument(
        "file", nargs="+", help="the JSON file; several, or a pattern such as 'report.*.json', are put side by side")
    add("doctor", doctor, "say what is installed, what is found and what is missing")
    commands.add_parser("cache", help="list and remove the plans that are kept between runs")
    commands.add_parser("replay", help="replay a recorded trace offline")
    commands.add_parser("place", help="place the buffers of a CSV file in as little memory as possible")
    commands.add_parser("timeline", help="write a recorded trace as a timeline for Perfetto or Chrome")
    return parser


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    command = "stowage"
    try:
        if arguments[:1] == ["replay"]:  # all options are the program's, --help too
            return _replay(arguments[1:])
        if arguments[:1] in (["cache"], ["place"], ["timeline"]):
            return _replay(arguments, "stowage")
        options = _parser().parse_args(arguments)
        command = f"stowage {options.command}"
        status = options.function(options)
        sys.stdout.flush()
        return status
    except StowageError as error:
        print(f"{command}: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
