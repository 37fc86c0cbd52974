"""clang-tidy has nothing to say about the host parts. What it said of an unchanged file is kept in the build folder."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from tests.style.files import HOST_PARTS, ROOT, build_folder, files, read

# A busy machine must not hold up all other tests: what is not looked at by then is left for the next run, which says so.
SECONDS = 45
WARNING = re.compile(r"^.*: (?:warning|error): .*\[[\w.,-]+\]$", re.M)


def commands():
    """Source file to its compile command, of the host parts: of the tracer what knows nothing of torch."""
    path = build_folder() / "compile_commands.json"
    if not path.exists():
        pytest.skip(f"{path} is not there; tools/setup builds it")
    entries = {os.path.relpath(entry["file"], ROOT): entry for entry in json.loads(path.read_text())}
    hosts = {name: entry for name, entry in entries.items() if name.startswith(tuple(f"{p}/" for p in HOST_PARTS))}
    return {name: entry for name, entry in hosts.items() if "/torch/include" not in entry["command"]}


def key_of(name, entry, shared):
    return hashlib.sha256("\0".join([shared, read(name), entry.get("command", "")]).encode()).hexdigest()


def check(program, name, kept):
    if kept.exists():
        return kept.read_text()
    run = subprocess.run([program, "-p", str(build_folder()), "--quiet", name], cwd=ROOT, capture_output=True, text=True)
    said = "\n".join(WARNING.findall(run.stdout))
    if run.returncode != 0 and not said:
        return f"{name}: clang-tidy failed: {run.stderr.strip()[-500:]}"
    kept.write_text(said)
    return said


def test_clang_tidy_is_silent():
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if program is None:
        pytest.skip("clang-tidy is not installed; tools/setup installs it")
    entries = commands()
    assert entries, "the build has no source of the host parts"
    headers = files(".h", ".fbs", under=HOST_PARTS)
    shared = "\0".join([read(".clang-tidy"), program, *map(read, headers)])
    cache = pathlib.Path(build_folder(), "clang-tidy")
    cache.mkdir(exist_ok=True)
    deadline = time.monotonic() + SECONDS

    def check_in_time(name, entry):
        kept = cache / key_of(name, entry, shared)
        return check(program, name, kept) if kept.exists() or time.monotonic() < deadline else None

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        answers = list(pool.map(check_in_time, entries.keys(), entries.values()))
    said = sorted({line for answer in answers if answer for line in answer.splitlines()})
    assert said == [], "\n".join(said)
    if None in answers:
        pytest.skip(f"{answers.count(None)} of {len(answers)} files are left for the next run; the others are clean")
