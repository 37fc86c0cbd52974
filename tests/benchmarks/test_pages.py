"""Every page of figures has one command, which tools/bench lists, and no command replaces its page by lesser figures."""

import argparse
import json
import subprocess
import sys

import pytest

from benchmarks import pages
from tests.style.files import ROOT, files, read

# Each command in a process of its own, which has imported torch already, with one list of options after the other.
CALLS = """
import json, os, runpy, sys, tempfile
import torch
def status_of(words):
    sys.argv, sys.path[0] = words, os.path.dirname(words[0])
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0
def outputs_of(command, options):
    with tempfile.TemporaryFile("w+") as file:
        if os.fork() == 0:
            os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
            for one in options:
                print("", status_of([command, *one]), sep="\\0", end="\\0", flush=True)
            os._exit(0)
        os.wait()
        file.seek(0)
        return file.read().split("\\0")
commands, options = json.load(sys.stdin)
print(json.dumps([outputs_of(command, options) for command in commands]))
"""


def listed() -> dict[str, str]:
    """Commands by page, as tools/bench lists them."""
    done = subprocess.run([ROOT / "tools" / "bench"], text=True, capture_output=True, check=True)
    head, *lines = (line.split(maxsplit=2) for line in done.stdout.splitlines())
    assert head == ["page", "command", "time"] and all(len(line) == 3 for line in lines)
    assert len({line[0] for line in lines}) == len(lines)
    return {page: command for page, command, _ in lines}


COMMANDS = {page: command for page, command in listed().items() if page != "gpu-NAME"}


@pytest.fixture(scope="module")
def outputs():
    """Of every command, what --help and what --quick --write print, and their exit status."""
    calls = json.dumps([list(COMMANDS.values()), [["--help"], ["--quick", "--write"]]])
    done = subprocess.run([sys.executable, "-c", CALLS], cwd=ROOT, input=calls, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(COMMANDS, json.loads(done.stdout)))


def test_every_page_has_one_entry_and_every_entry_a_page():
    there = {name.removeprefix("docs/results/").removesuffix(".md") for name in files(".md", under=("docs/results",))}
    assert {page for page in there if not page.startswith("gpu-")} == set(COMMANDS)
    assert listed()["gpu-NAME"] == "tools/gpu_check" and "docs/results/gpu-NAME.md" in read("tools/gpu_check")


@pytest.mark.parametrize("page", COMMANDS)
def test_a_page_names_its_command(page):
    assert read(f"docs/results/{page}.md").splitlines()[2] == pages.Page(ROOT / COMMANDS[page]).origin()


@pytest.mark.parametrize("page", COMMANDS)
def test_a_command_says_which_page_it_writes(page, outputs):
    text, status, *_ = outputs[page]
    assert status == "0", text
    assert f"write docs/results/{page}.md" in " ".join(text.split())
    assert all(option in text for option in ("--write", "--out FILE", "--quick"))


@pytest.mark.parametrize("page", COMMANDS)
def test_a_quick_run_is_not_for_the_page(page, outputs):
    _, _, text, status, _ = outputs[page]
    assert (status, "what --quick measures is not for the page" in text) == ("2", True), text


def test_a_part_is_written_only_where_it_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    page = pages.Page(tmp_path / "doors.py")

    def parse(*words: str) -> argparse.Namespace:
        parser = page.parser("Something.", quick="less")
        parser.add_argument("--models", default="all")
        monkeypatch.setattr(sys, "argv", ["doors.py", *words])
        return page.parse(parser, "models")

    page.write(parse(), "printed only")
    assert not page.path.exists()
    page.write(parse("--write"), "whole")
    with pytest.raises(SystemExit):
        parse("--write", "--models", "lstm")
    assert "what --models measures is not for the page" in capsys.readouterr().err
    page.write(parse("--models", "lstm", "--out", str(tmp_path / "folder" / "part.md")), "part")
    assert (page.path.read_text(), (tmp_path / "folder" / "part.md").read_text()) == ("whole", "part")


@pytest.mark.parametrize("words, told", [
    (["nothing"], "there is no page 'nothing'"), (["--fast"], "unknown option '--fast'"),
    (["zoo", "doors", "--", "--models", "lstm"], "are for one page")])
def test_mistakes_are_told_before_anything_runs(words, told):
    done = subprocess.run([ROOT / "tools" / "bench", *words], text=True, capture_output=True)
    assert done.returncode == 1 and told in done.stderr
