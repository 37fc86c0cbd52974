"""The JSON file of a run of tools/gpu_check: its results, and where the next call goes on. docs/gpu_check.md has its keys.

Saved as a whole behind every step, so that whatever ends the process costs the step that it was in. What was measured with
other sources, another torch or another device is never gone on from.

Thread safety: none; one thread of one process.
"""

import hashlib
import json
import os
import pathlib
import subprocess

from tools.gpu.results import Result

LAYOUT = 1
# What changes no figure: documents, the results themselves, and what builds leave.
APART = ("docs", "dist", "shared")


def _git(root: pathlib.Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], text=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def source_files(root: pathlib.Path) -> list[pathlib.Path]:
    found = []
    for folder, folders, names in os.walk(root):
        top = pathlib.Path(folder) == root
        folders[:] = [name for name in folders if name != "__pycache__" and not (
            top and (name in APART or name.startswith(("build", "."))))]
        found += [pathlib.Path(folder, name) for name in names if not name.endswith((".pyc", ".md"))]
    return sorted(found)


def sources(root: pathlib.Path) -> dict:
    """`digest`, of every source file: it also tells two working trees of one commit apart. `commit`: None without git."""
    digest = hashlib.sha256()
    for path in source_files(root):
        if path.is_file():
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"digest": digest.hexdigest()[:16], "commit": commit, "changed": bool(changed) if commit else None}


class State:
    """`identity`: what all results of the file have in common."""

    def __init__(self, paths: list[pathlib.Path], identity: dict):
        self.paths = paths
        self.content: dict = {"layout": LAYOUT, "identity": identity, "machine": {}, "calls": [], "steps": {}}

    @classmethod
    def resumed(cls, paths: list[pathlib.Path], identity: dict, also: list[pathlib.Path] = ()) -> "State":
        """Goes on from the file that has most steps, among `paths`, where the new one is written, and `also`; or begins anew
        where none is of this identity and layout."""
        state = cls(paths, identity)
        for path in [*paths, *also]:
            try:
                found = json.loads(path.read_text())
                same = found["layout"] == LAYOUT and found["identity"] == identity
                if same and len(found["steps"]) > len(state.content["steps"]):
                    state.content = found
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return state

    @property
    def steps(self) -> dict[str, dict]:
        return self.content["steps"]

    def is_done(self, name: str) -> bool:
        return name in self.steps and self.steps[name]["status"] != "cut"

    def kept(self, name: str) -> dict:
        """What a step that was cut left for its next part."""
        return self.steps.get(name, {}).get("kept", {})

    def put(self, name: str, result: Result, ended: bool = True, **more) -> None:
        """Replaces what was there. `ended`: the step's attempt, which is counted, is over."""
        attempts = self.steps.get(name, {}).get("attempts", 0) + ended
        self.steps[name] = result.plain() | {"attempts": attempts} | more
        self.save()

    def forget(self, statuses: tuple[str, ...]) -> None:
        self.content["steps"] = {name: step for name, step in self.steps.items() if step["status"] not in statuses}

    def save(self) -> None:
        """Whole or not at all; a path that cannot be written does not keep the others from it."""
        text = json.dumps(self.content, indent=1) + "\n"
        for path in self.paths:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(".part")
                part.write_text(text)
                part.replace(path)
            except OSError as error:
                print(f"warning: {path} was not written: {error}", flush=True)
