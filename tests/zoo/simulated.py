"""The environment that puts the simulated CUDA device under a process, as simulator/env.json describes it."""

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build_folder() -> pathlib.Path:
    """Where the libraries lie: STOWAGE_BUILD, or build/ in the repository."""
    return pathlib.Path(os.environ.get("STOWAGE_BUILD") or ROOT / "build")


def environment(memory: str = "80GiB", base: dict[str, str] | None = None) -> dict[str, str]:
    """What to add to a process's environment; `base` (default: this process's) is what is prepended to.

    Raises FileNotFoundError when the simulator is not built.
    """
    base = dict(os.environ) if base is None else base
    folder = build_folder() / "simulator"
    description = json.loads((folder / "env.json").read_text())
    wanted = {"STOWAGE_SIM_MEMORY": memory} | description["set"]
    for name, value in description["prepend"].items():
        before = [base[name]] if base.get(name) else []
        wanted[name] = ":".join([value.replace("${SIMULATOR}", str(folder)), *before])
    return wanted
