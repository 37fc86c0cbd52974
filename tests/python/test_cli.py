"""The command `stowage`, as a process and as functions."""

import json
import os
import subprocess
import sys

import pytest

from tests.environment import without
from tests.python.doors import ROOT

sys.path.insert(0, str(ROOT / "python"))
from stowage import _library, cli  # noqa: E402


def stowage(*arguments: str, **settings: str) -> subprocess.CompletedProcess:
    environment = without("STOWAGE") | {"PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"} | settings
    return subprocess.run([sys.executable, "-m", "stowage", *arguments], env=environment, cwd=ROOT, text=True,
                          capture_output=True, timeout=300)


@pytest.fixture
def command(capsys, monkeypatch):
    """Runs the command in this process, which is quicker; gives status, output and errors."""
    for name in [name for name in os.environ if name.startswith("STOWAGE") and name != "STOWAGE_BUILD"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("STOWAGE_PLAN_CACHE", "off")
    monkeypatch.chdir(ROOT)

    def run(*arguments: str):
        try:
            status = cli.main(list(arguments))
        except SystemExit as ended:
            status = ended.code
        return (status, *capsys.readouterr())
    return run


def test_settings_lists_every_one():
    done = stowage("settings", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {"STOWAGE", "STOWAGE_DEVICES", "STOWAGE_PLAN_CACHE"} <= {row["variable"] for row in rows}
    text = stowage("settings").stdout
    assert all(row["variable"] in text and row["help"] in text for row in rows)


def test_a_missing_script_is_one_error():
    done = stowage("run", "no_such_script.py")
    assert done.returncode == 1
    assert done.stderr == "stowage run: error: there is no script no_such_script.py\n"


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


@pytest.mark.parametrize("content", [
    b"\xff\x00", b"", b"nothing", b"3", b"[]", b"{}", b'"devices"', b'{"devices": 3}', b'{"devices": []}',
    b'{"devices": [3]}',
    b'{"devices": [{"device": "cpu"}]}', b'{"devices": [{"device": 3, "state": "off"}]}', b'{"devices": [{}]}',
    b'{"devices": [{"device": "cpu", "state": "off", "iterations": "many"}]}', b"[" * 100_000,
    b'{"devices": [{"device": "cpu", "state": "planned", "plans": 3, "switched_at_iteration": 1}]}', b"NaN",
    b'{"devices": [{"device": "cpu", "state": "planned", "misses": 3, "switched_at_iteration": 1}]}',
])
def test_what_is_no_report_is_one_error(command, tmp_path, content):
    saved = tmp_path / "any.json"
    saved.write_bytes(content)
    status, output, errors = command("report", str(saved))
    assert (status, output) == (1, "")
    assert errors.startswith("stowage report: error: ") and errors.count("\n") == 1, errors


@pytest.mark.parametrize("arguments, complaint", [
    ([], "stowage: error: the following arguments are required: command"),
    (["nonsense"], "stowage: error: argument command: invalid choice: 'nonsense'"),
    (["run"], "stowage run: error: the following arguments are required: script"),
    (["run", "--no-such", "train.py"], "stowage: error: unrecognized arguments: --no-such"),
    (["run", "--budget", "much", "examples/char_gpt.py"], 'stowage run: error: STOWAGE_BUDGET is "much"'),
    (["run", "--set", "max_plans=x", "examples/char_gpt.py"], 'stowage run: error: STOWAGE_MAX_PLANS is "x"'),
    (["run", "--set", "max_plan=3", "examples/char_gpt.py"], "there is no setting max_plan; did you mean max_plans?"),
    (["run", "--set", "max_plans", "examples/char_gpt.py"], "--set takes key=value"),
    (["dryrun", "--device-memory", "much", "examples/char_gpt.py"], "stowage dryrun: error: much is not a valid amount"),
    (["dryrun", "--devices", "x", "examples/char_gpt.py"], "stowage dryrun: error: argument --devices"),
    (["dryrun", "--set", "max_plans=x", "examples/char_gpt.py"], 'stowage dryrun: error: STOWAGE_MAX_PLANS is "x"'),
    (["report", "no-such.json"], "stowage report: error: there is no file no-such.json"),
    (["report", "no-such-*.json"], "stowage report: error: there is no file no-such-*.json"),
])
def test_every_error_has_one_line_one_prefix_and_status_1(command, arguments, complaint):
    status, output, errors = command(*arguments)
    assert (status, output) == (1, "")
    assert complaint in errors and errors.count("\n") == 1 and errors.startswith("stowage"), errors


@pytest.mark.parametrize("arguments, complaint", [
    (["replay"], "stowage replay: error: trace is required"),
    (["replay", "--nonsense"], "stowage replay: error: "),
    (["replay", "none.stowtrace"], "stowage replay: error: none.stowtrace"),
    (["replay", "README.md"], "stowage replay: error: README.md"),
    (["place", "none.csv"], "stowage place: error: "),
])
def test_the_offline_program_ends_in_the_same_way(arguments, complaint):
    done = stowage(*arguments)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    assert done.stderr.startswith(complaint) and done.stderr.count("\n") == 1, done.stderr


def test_a_bad_value_in_the_environment_stops_the_launcher_as_one_on_its_command_line_does():
    done = stowage("run", "examples/char_gpt.py", STOWAGE="1", STOWAGE_MAX_PLANS="x")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith('stowage run: error: STOWAGE_MAX_PLANS is "x"') and done.stderr.count("\n") == 1


def test_the_version_names_torch_too():
    done = stowage("--version")
    assert done.returncode == 0 and done.stdout.startswith("stowage 0.") and "built for torch 2." in done.stdout


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
