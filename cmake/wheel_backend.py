"""The build backend of `pip install .`: scikit-build-core, told which torch to build against.

Stowage is built against the torch that it will run with. With build isolation the build's own environment has none, and
must not fetch one, since that could be another version. So this backend looks for the torch of the environment that
the wheel is for: with pip the interpreter is that environment's own; other front ends (build, uv) make an environment
for the build, and the target is that of the process which called them. STOWAGE_PYTHON=/path/to/python decides it by hand.
"""
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import locate_torch

HERE = pathlib.Path(__file__).resolve().parent
TORCH = "cmake.define.STOWAGE_TORCH"


def fail(message: str):
    raise SystemExit(f"\nstowage: error: {message}\n")


def fail_for(requirements: list[str]):
    fail(f"pip installs nothing by itself with --no-build-isolation; run first: pip install {' '.join(requirements)}")


def backend():
    try:
        import scikit_build_core.build
    except ImportError:
        tools = [tool for tool in ("cmake", "ninja") if not shutil.which(tool)]
        fail_for(["scikit-build-core", *tools, *header_wheels(located())])
    return scikit_build_core.build


def program(folder: pathlib.Path, environment: dict[str, str]) -> str:
    """Path of the program that a process was started as, links not followed: a virtual environment's Python is one."""
    name = os.fsdecode((folder / "cmdline").read_bytes()).split("\0")[0]
    if "/" in name:
        return os.path.normpath(os.path.join(os.readlink(folder / "cwd"), name))
    return shutil.which(name, path=environment.get("PATH")) or name


def ancestors() -> list[tuple[str, dict[str, str]]]:
    """Program and environment of the processes above this one, nearest first; as far as they may be read."""
    found, process = [], os.getppid()
    try:
        while process > 1:
            folder = pathlib.Path("/proc", str(process))
            lines = os.fsdecode((folder / "environ").read_bytes()).split("\0")
            environment = dict(line.split("=", 1) for line in lines if "=" in line)
            found.append((program(folder, environment), environment))
            process = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        pass
    return found


def pythons() -> list[str]:
    """The interpreters whose torch may be meant, likeliest first."""
    if named := os.environ.get("STOWAGE_PYTHON"):
        return [named]
    above = ancestors()
    called_by = [name for name, _ in above if os.path.basename(name).startswith("python")]
    if sys.executable in called_by[:1]:  # pip: the interpreter is the target's own
        return [sys.executable]
    environments = [environment["VIRTUAL_ENV"] for _, environment in above if "VIRTUAL_ENV" in environment]
    inside = [f"{folder}/bin/python" for folder in (*environments, ".venv")]
    return [python for python in dict.fromkeys([sys.executable, *inside, *called_by]) if os.access(python, os.X_OK)]


def ask(python: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([python, *flags, HERE / "locate_torch.py", *filter(os.path.isabs, sys.path)], text=True,
                          capture_output=True)


@functools.cache
def located() -> subprocess.CompletedProcess:
    """What locate_torch.py says of the first interpreter that has torch. Ends the build where none has."""
    candidates = pythons()
    for python in candidates:
        for flags in ((), ("-E",)):  # -E: past the PYTHONPATH with which pip hides the environment's packages
            answer = ask(python, *flags)
            if answer.returncode in (0, locate_torch.NO_HEADERS):
                return answer
    fail(f"no torch was found for {' or '.join(candidates)}. Stowage is built against the torch that it will run with: "
         "install torch into this environment first (pip install torch), or name the Python that has it: "
         "STOWAGE_PYTHON=/path/to/python pip install .")


def check_compiler():
    """CMake's own words for a missing compiler are many; and all that is missing is better said at once."""
    if os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++"):
        return
    needed = re.findall(r"^needs\((\S+)", (HERE / "StowageDependencies.cmake").read_text(), re.MULTILINE)
    packages = " ".join(["g++", *dict.fromkeys(needed)])
    fail(f"there is no C++ compiler; on Debian and Ubuntu: sudo apt-get install {packages}")


def header_wheels(answer: subprocess.CompletedProcess) -> list[str]:
    """The requirements that locate_torch.py asked for; none where the headers are there."""
    return answer.stderr.strip().rsplit("pip install ", 1)[1].split() if answer.returncode else []


def check_tools(config_settings: dict | None):
    """Ends the build where CMake, Ninja or CUDA's headers are missing, which only build isolation fetches."""
    asked_for = backend().get_requires_for_build_wheel(config_settings)
    missing = [one for one in asked_for if importlib.util.find_spec(re.match(r"\w+", one)[0]) is None]
    if missing := missing + header_wheels(located()):
        fail_for(missing)


def with_torch(config_settings: dict | None) -> dict:
    check_compiler()
    if TORCH in (config_settings or {}):
        return config_settings
    check_tools(config_settings)
    return {**(config_settings or {}), TORCH: located().stdout.strip(), "cmake.define.STOWAGE_PYTHON": sys.executable}


def requirements(of_backend: list[str]) -> list[str]:
    """What a front end that isolates the build has to fetch: CUDA's headers where torch's wheels lack them."""
    check_compiler()
    return [*of_backend, *header_wheels(located())]


def get_requires_for_build_wheel(config_settings=None):
    return requirements(backend().get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings=None):
    return requirements(backend().get_requires_for_build_editable(config_settings))


def get_requires_for_build_sdist(config_settings=None):
    return backend().get_requires_for_build_sdist(config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return backend().build_wheel(wheel_directory, with_torch(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return backend().build_editable(wheel_directory, with_torch(config_settings), metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    return backend().build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with_torch(config_settings)
    return backend().prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    with_torch(config_settings)
    return backend().prepare_metadata_for_build_editable(metadata_directory, config_settings)
