"""The command `stowage`, as a process and as functions."""

import json
import os
import subprocess
import sys

import pytest

from tests.python.doors import ROOT

sys.path.insert(0, str(ROOT / "python"))
from stowage import _library, cli  # noqa: E402


def stowage(*arguments: str) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STOWAGE")}
    environment |= {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "stowage", *arguments], env=environment, cwd=ROOT, text=True,
                          capture_output=True, timeout=300)


def test_settings_lists_every_one():
    done = stowage("settings", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {"STOWAGE", "STOWAGE_DEVICES", "STOWAGE_PLAN_CACHE"} <= {row["variable"] for row in rows}
    text = stowage("settings").stdout
    assert all(row["variable"] in text and row["help"] in text for row in rows)


def test_a_missing_script_is_one_error():
    done = stowage("run", "no_such_script.py")
    assert done.returncode == 2
    assert done.stderr == "stowage: error: there is no script no_such_script.py\n"


def test_run_has_python_s_semantics(tmp_path):
    script = tmp_path / "job.py"
    script.write_text("import os, sys\nassert sys.argv[1:] == ['--help', '-x']\n"
                      "assert os.environ['STOWAGE'] == '1' and os.environ['STOWAGE_MAX_PLANS'] == '3'\n"
                      "assert sys.path[0] == os.path.dirname(os.path.abspath(__file__))\nsys.exit(7)\n")
    done = stowage("run", "--set", "max_plans=3", str(script), "--help", "-x")
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("command", ["run", "dryrun"])
def test_what_stands_behind_the_script_is_the_script_s(command):
    arguments = ["--device", "cuda", "--set", "a=1", "-m", "--help", "--devices", "3"]
    options = cli._parser().parse_args([command, "--set", "job=x", "train.py", *arguments])
    assert (options.script, options.arguments, options.set, options.module) == ("train.py", arguments, ["job=x"], False)


def test_replay_takes_its_own_options():
    done = stowage("replay", "--help")
    assert done.returncode == 0 and "Usage: stowage replay [OPTIONS] trace" in done.stdout, done.stderr
    done = stowage("replay", "none.stowtrace", "--json")
    assert done.returncode != 0 and "none.stowtrace" in done.stderr


def test_report_prints_a_saved_one(tmp_path):
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps({"devices": [{"device": "cpu", "state": "planned", "iterations": 5}]}))
    done = stowage("report", str(saved))
    assert done.returncode == 0 and "planned" in done.stdout, done.stderr
    saved.write_bytes(b"\xff\x00")
    assert stowage("report", str(saved)).returncode == 2


@pytest.mark.parametrize("text, amount", [("80GiB", 80 << 30), ("512 MiB", 512 << 20), ("1.5GB", 1_500_000_000),
                                          ("4096", 4096), ("2k", 2000)])
def test_amounts_of_memory(text, amount):
    assert cli._bytes(text) == amount


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "80GiBx", "1e9", "8 0"])
def test_what_is_no_amount(text):
    with pytest.raises(_library.StowageError):
        cli._bytes(text)


def test_simulator_environment(tmp_path):
    (tmp_path / "env.json").write_text(json.dumps({"set": {"A": "1"}, "prepend": {"P": "${SIMULATOR}/x"}, "unset": ["U"]}))
    changed = cli.simulator_environment(tmp_path, {"P": "old", "U": "gone", "K": "kept"})
    assert changed == {"A": "1", "P": f"{tmp_path}/x:old", "K": "kept"}


def test_every_command_has_help():
    for command in ("run", "dryrun", "preload", "settings", "report", "doctor"):
        done = stowage(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith("usage: stowage"), command


def test_doctor_says_what_is_there():
    done = stowage("doctor")
    assert "torch" in done.stdout and "entry point" in done.stdout
