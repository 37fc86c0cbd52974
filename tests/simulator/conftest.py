"""Runs a script with real PyTorch on the simulated device, in a process of its own."""
import json
import os
import pathlib
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.environment import NO_CACHE  # noqa: E402
from tests.warm import client  # noqa: E402


def simulator_folder():
    """The built stand-ins: $STOWAGE_SIMULATOR, else the project's build folder."""
    folder = pathlib.Path(os.environ.get("STOWAGE_SIMULATOR", ROOT / "build" / "simulator"))
    if not (folder / "env.json").exists():
        pytest.fail(f"no simulator in {folder}: build target stowage_simcuda or set STOWAGE_SIMULATOR")
    return folder


def simulated_environment(**more):
    """This process's environment with what env.json asks for, and STOWAGE_SIM_* settings."""
    folder = simulator_folder()
    wanted = json.loads((folder / "env.json").read_text())
    environment = {name: value for name, value in os.environ.items() if name not in wanted["unset"]} | NO_CACHE
    environment.update(wanted["set"])
    for name, value in wanted["prepend"].items():
        parts = [value.replace("${SIMULATOR}", str(folder)), environment.get(name, "")]
        environment[name] = ":".join(part for part in parts if part)
    environment.update({name: str(value) for name, value in more.items()})
    return environment


@pytest.fixture
def simulate():
    """simulate(script, **environment) -> stdout. Fails when the script does."""
    def run(script, **environment):
        head = (pathlib.Path(__file__).parent / "preamble.py").read_text()
        done = client.run("-c", head + textwrap.dedent(script), environment=simulated_environment(**environment),
                          timeout_s=300)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
        return done.stdout
    return run
