"""minimalloc (https://github.com/google/minimalloc, Apache-2.0) built from a checkout of its source, and run.

None of its code is here. It wants an Abseil with absl/log, of 2023 or later; with an older one (Debian 12's libabsl-dev),
the little of absl/log that it uses is put beside it, and its std::string_view becomes Abseil's. Nothing else is changed.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

SOURCES = ("converter.cc", "main.cc", "minimalloc.cc", "solver.cc", "sweeper.cc", "validator.cc")
ABSL_PACKAGES = ("absl_flags", "absl_flags_parse", "absl_statusor", "absl_strings", "absl_time", "absl_btree",
                 "absl_flat_hash_map", "absl_flat_hash_set")
LOG_PACKAGES = ("absl_log", "absl_log_globals", "absl_log_initialize")

LOG_HEADERS = {
    "log.h": """#pragma once
#include <iostream>
struct ShimLine {
  ~ShimLine() { std::cerr << std::endl; }
  template <class T> const ShimLine& operator<<(const T& value) const { std::cerr << value; return *this; }
};
#define LOG(severity) ShimLine()
#define DLOG(severity) while (false) std::cerr
""",
    "globals.h": """#pragma once
#include "absl/base/log_severity.h"
namespace absl {
inline void SetStderrThreshold(LogSeverityAtLeast) {}
inline void EnableLogPrefix(bool) {}
}  // namespace absl
""",
    "initialize.h": "#pragma once\nnamespace absl {\ninline void InitializeLog() {}\n}  // namespace absl\n",
}


def has(*packages: str) -> bool:
    return subprocess.run(["pkg-config", "--exists", *packages], capture_output=True).returncode == 0


def build(checkout: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The program, built in `folder` at -O3. Raises SystemExit with what is missing."""
    if not has(*ABSL_PACKAGES):
        raise SystemExit("minimalloc needs Abseil; install libabsl-dev and pkg-config")
    source = folder / "src"
    shutil.copytree(checkout / "src", source, dirs_exist_ok=True)
    packages = ABSL_PACKAGES
    if has(*LOG_PACKAGES):
        packages += LOG_PACKAGES
    else:
        (source / "absl" / "log").mkdir(parents=True, exist_ok=True)
        for name, text in LOG_HEADERS.items():
            (source / "absl" / "log" / name).write_text(text)
        converter = source / "converter.cc"
        converter.write_text(converter.read_text().replace("std::string_view", "absl::string_view"))
    asked = subprocess.run(["pkg-config", "--libs", *packages], capture_output=True, text=True, check=True)
    program = folder / "minimalloc"
    command = ["c++", "-std=c++20", "-O3", "-DNDEBUG", "-w", "-I", source, *(source / name for name in SOURCES)]
    done = subprocess.run([*command, "-o", program, *asked.stdout.split()], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"minimalloc in {checkout} does not compile:\n{done.stderr[-2000:]}")
    return program


def version_of(checkout: pathlib.Path) -> str:
    done = subprocess.run(["git", "-C", checkout, "log", "-1", "--format=%h of %cs"], capture_output=True, text=True)
    return done.stdout.strip() or "of unknown version"


class Minimalloc:
    """A minimalloc to compare with: a program, or a checkout of its source that is built first."""

    def __init__(self, given: pathlib.Path):
        self._folder = None
        self.program = given
        self.version = "a program that was given"
        if given.is_dir():
            self._folder = tempfile.TemporaryDirectory(prefix="minimalloc-")
            self.program = build(given, pathlib.Path(self._folder.name))
            self.version = version_of(given)
        elif not given.is_file():
            raise SystemExit(f"there is no {given}; --minimalloc takes a checkout of its source, or the program")

    def solve(self, problem: pathlib.Path, capacity: int, limit_s: float) -> float | None:
        """Seconds of solving, as it says itself; None if it found nothing within the limit."""
        with tempfile.NamedTemporaryFile(suffix=".csv") as output:
            done = subprocess.run(
                [self.program, f"--input={problem}", f"--output={output.name}", f"--capacity={capacity}",
                 f"--timeout={limit_s}s", "--validate"], capture_output=True, text=True, timeout=limit_s * 2 + 60)
        elapsed = re.search(r"Elapsed time ([\d.]+)s", done.stderr)
        if elapsed is None:
            raise SystemExit(f"minimalloc on {problem.name}: {done.stderr.strip()[-500:]}")
        return float(elapsed[1]) if "Validation PASS" in done.stderr else None
