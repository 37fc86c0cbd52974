"""C++ is as clang-format writes it; Python at least compiles and keeps to plain lines."""
import ast
import shutil
import subprocess

import pytest

from tests.style.files import ROOT, cpp_files, files, read


def test_clang_format_would_change_nothing():
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        pytest.skip("clang-format is not installed; tools/setup installs it")
    run = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *cpp_files()], cwd=ROOT,
                         capture_output=True, text=True)
    errors = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "error:" in line})
    assert errors == [], f"run: clang-format -i {' '.join(errors)}"
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", files(".py"))
def test_python_is_plain(name):
    text = read(name)
    ast.parse(text, name)
    lines = text.split("\n")
    assert [n for n, line in enumerate(lines, 1) if len(line) > 125 or line != line.rstrip() or "\t" in line] == []
    assert text == "" or text.endswith("\n") and not text.endswith("\n\n")
