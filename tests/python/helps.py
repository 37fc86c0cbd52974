"""What commands know of their options, by what they say themselves: --help, or CMake's lists of presets and variables."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

from tests.python.doors import ROOT

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
CMAKE_OPTION = re.compile(r"(?:option|set)\((STOWAGE_\w+)")
SUBCOMMANDS = ("run", "dryrun", "preload", "settings", "report", "doctor", "replay", "place", "cache")
TOOLS = tuple(f"tools/{path.name}" for path in sorted((ROOT / "tools").iterdir())
              if path.is_file() and os.access(path, os.X_OK))
OURS = (("stowage",), *(("stowage", name) for name in SUBCOMMANDS), *((tool,) for tool in TOOLS))


class Call(NamedTuple):
    command: tuple[str, ...]  # ("stowage", "run"), ("cmake", "--build"), ("examples/char_gpt.py",)
    arguments: list[str]


def calls(line: str) -> list[Call]:
    """The commands of a line of shell; of one that runs a script also the script."""
    line = re.sub(r"\$\([^)]*\)", "SUBSTITUTED", line)
    found = []
    for part in re.split(r"&&|\|\||;|\|", line):
        words = shlex.split(part)
        while words and re.match(r"[A-Z_0-9]+=", words[0]):
            words.pop(0)
        found += calls_of(words) if words else []
    return found


def calls_of(words: list[str]) -> list[Call]:
    name = words[0].removeprefix(".venv/bin/")
    script = next((i for i, word in enumerate(words) if word.endswith(".py")), len(words))
    of_script = [Call((words[script],), words[script + 1:])] if script < len(words) else []
    if name in ("python", "python3") or script == 0:
        return of_script
    second = words[1] if len(words) > 1 else ""
    if name == "stowage" and second in ("run", "dryrun"):
        return [Call((name, second), words[2:script]), *of_script]
    if name in ("stowage", "pip") and second and not second.startswith("-") or second in ("--build", "--install"):
        return [Call((name, second), words[2:])]
    return [Call((name,), words[1:])]


@functools.cache
def help_of(command: tuple[str, ...]) -> str:
    """Empty where there is no such command."""
    by_python = {"stowage": ("-m",), "pip": ("-m",)}.get(command[0], () if command[0].endswith(".py") else None)
    called = list(command) if by_python is None else [sys.executable, *by_python, *command]
    asks = [] if command[1:] and command[0] == "cmake" else ["--help"]  # cmake --build says it when called with nothing
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'python'}"}
    try:
        done = subprocess.run([*called, *asks], env=environment, cwd=ROOT, text=True, capture_output=True, timeout=120)
    except OSError:
        return ""
    return done.stdout + done.stderr if done.returncode == 0 or not asks else ""


def known_variable(name: str) -> bool:
    if name.startswith("STOWAGE_"):
        return name in CMAKE_OPTION.findall((ROOT / "CMakeLists.txt").read_text())
    return subprocess.run(["cmake", "--help-variable", name], capture_output=True).returncode == 0


def presets() -> set[str]:
    return {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}


def mistakes(call: Call) -> list[str]:
    """What the command does not know, or the command, if there is no such one. Commands of others without an option are
    not looked at."""
    options = [word.partition("=")[0] for word in call.arguments if OPTION.match(word)]
    ours = call.command in OURS or call.command[0] == "stowage" or call.command[0].endswith(".py")
    if (ours or options) and not help_of(call.command):
        return [" ".join(call.command)]
    wrong = [option for option in options if option not in OPTION.findall(help_of(call.command))]
    if call.command == ("cmake",):
        text = " ".join(call.arguments)
        wrong += [name for name in re.findall(r"-D(\w+)", text) if not known_variable(name)]
        wrong += [name for name in re.findall(r"--preset[ =](\S+)", text) if name not in presets()]
    return wrong
