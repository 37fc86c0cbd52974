"""Finds and loads libstowage.so: in the package's own folder (a wheel), else in the repository's build folder."""

import ctypes
import functools
import importlib.metadata
import json
import os
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent
_REPOSITORY = PACKAGE.parents[1]


class StowageError(RuntimeError):
    """Stowage cannot do what was asked; the message says why and what to do."""


def _folders() -> list[pathlib.Path]:
    """Where built files may lie, best first. A virtual environment .venv-X of the repository has its own build-X."""
    suffix = pathlib.Path(sys.prefix).name.removeprefix(".venv")
    builds = [_REPOSITORY / f"build{suffix}", _REPOSITORY / "build"]
    return [PACKAGE, *(build for build in builds if (build / "CMakeCache.txt").exists())]


def find(*names: str) -> pathlib.Path | None:
    """The first file that is there; each name is relative to the package or the build folder."""
    for folder in _folders():
        for name in names:
            if (folder / name).exists():
                return folder / name
    return None


def library_path() -> pathlib.Path:
    path = find("lib/libstowage.so")
    if path is None:
        raise StowageError(f"libstowage.so is not in {' or '.join(map(str, _folders()))}; "
                           "run tools/setup in the repository, or pip install stowage")
    return path


def built_for() -> dict[str, str]:
    """Version of Stowage and the torch it was built for; empty strings when nothing is built."""
    path = find("lib/stowage-build.json")
    return json.loads(path.read_text()) if path else {"version": "", "torch": ""}


def version() -> str:
    return built_for()["version"]


def _check_torch() -> None:
    try:
        installed = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise StowageError("torch is not installed in this environment") from None
    wanted = built_for()["torch"]
    if wanted.split("+")[0] != installed.split("+")[0]:
        raise StowageError(f"this Stowage was built for torch {wanted}, but torch {installed} is installed; "
                           "build it again: pip install --no-build-isolation .")


@functools.cache
def load() -> ctypes.CDLL:
    """The library with its functions declared. torch comes into the process first, since the library needs its own."""
    _check_torch()
    import torch  # noqa: F401
    path = library_path()
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise StowageError(f"{path} cannot be loaded: {error}") from error
    for name in ("report", "report_text", "settings", "last_error", "version", "torch_version"):
        getattr(library, f"stowage_{name}").restype = ctypes.c_char_p
    return library
