"""The repository's own files: what git tracks or would track, so that build outputs do not count."""
import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("core", "planner", "allocator", "tracer", "recompute", "session", "plugin", "library", "replay", "simulator")
HOST_PARTS = ("core", "planner", "allocator", "tracer", "session", "replay")
SKIPPED_FOLDERS = {".git", ".cache", "dist", "__pycache__"}


def build_folder():
    return pathlib.Path(os.environ.get("STOWAGE_BUILD", ROOT / "build"))


def walked():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith((".venv", "build"))]
        for name in names:
            yield str(pathlib.Path(folder, name).relative_to(ROOT))


@functools.cache
def all_files():
    """Paths relative to ROOT, sorted. A copy without git is walked."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else list(walked())
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def files(*suffixes, under=("",)):
    starts = tuple(f"{folder}/" if folder else "" for folder in under)
    return [name for name in all_files() if name.endswith(suffixes) and name.startswith(starts)]


def cpp_files():
    return files(".h", ".cc")


@functools.cache
def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def without_comments_and_strings(text):
    """C++ with comments and literals blanked out, line breaks kept."""
    pattern = r'R"(?P<d>[^(]*)\(.*?\)(?P=d)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: '""' + "\n" * m[0].count("\n"), text, flags=re.S)
