"""Plans that are kept between runs: what a job keeps and finds, and the command `stowage cache`."""

import json
import os
import pathlib
import shutil
import stat
import subprocess

import pytest

from tests.python.doors import JOB, digest, python
from tests.python.test_cli import stowage

TRAIN = ("import stowage; stowage.enable(devices='cpu', plan_wait_ms=60000)\n" + JOB
         + "import json; print(json.dumps(stowage.report()))")
DAY_S = 86_400


def train(caches: pathlib.Path, program: str = TRAIN, **settings: str) -> subprocess.CompletedProcess:
    """A job that keeps plans where it does so by default, with its cache folder in `caches`."""
    return python(program, warm=False, XDG_CACHE_HOME=str(caches), **{"STOWAGE_PLAN_CACHE": ""} | settings)


def report_of(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def cache(caches: pathlib.Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    return stowage("cache", *arguments, XDG_CACHE_HOME=str(caches), **{"STOWAGE_PLAN_CACHE": ""} | settings)


def listed(caches: pathlib.Path) -> list[dict]:
    return json.loads(cache(caches, "list", "--json").stdout)["files"]


def kept(caches: pathlib.Path) -> list[pathlib.Path]:
    return sorted((caches / "stowage" / "plans").iterdir())


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """A cache folder in which one job has kept its plans, without those of its beginning."""
    folder = tmp_path_factory.mktemp("caches")
    train(folder, STOWAGE_JOB="small job")
    found_by_an_iteration, = (file["file"] for file in listed(folder) if not file["opening"])
    for path in kept(folder):
        if path.name != found_by_an_iteration:
            path.unlink()
    return folder


@pytest.fixture
def filled(caches, tmp_path):
    """A copy with a plan that was not used for 40 days, and a file of somebody else."""
    folder = tmp_path / "stowage" / "plans"
    folder.mkdir(mode=0o700, parents=True)
    plan = kept(caches)[0]
    for name in (plan.name, f"{plan.name[:-13]}0123.stowplan", "mine.txt"):
        (folder / name).write_bytes(plan.read_bytes())
    old = next(path for path in folder.iterdir() if path.name.endswith("0123.stowplan"))
    os.utime(old, (old.stat().st_mtime - 40 * DAY_S,) * 2)
    return tmp_path


def test_a_second_run_is_planned_from_its_first_allocation_with_the_same_bits(tmp_path):
    plain = digest(python(JOB, warm=False))
    runs = [train(tmp_path) for _ in range(2)]
    assert [digest(done) for done in runs] == [plain, plain]
    assert [done.stderr for done in runs] == ["", ""]
    first, second = map(report_of, runs)
    assert first["state"] == second["state"] == "planned"
    assert not first["planned_from_start"] and 0 < first["switched_at_iteration"]
    assert second["planned_from_start"] and second["switched_at_iteration"] == 0
    assert second["clean_iterations"] == second["planned_iterations"] == second["iterations"] == 12
    assert second["plans"][0]["fingerprint"] == first["plans"][0]["fingerprint"]
    assert second["upstream_allocated_bytes"] == 0 < first["upstream_allocated_bytes"]
    assert sorted(file["opening"] for file in listed(tmp_path)) == [0, 1]
    for file in kept(tmp_path):
        check_private(file)


def check_private(file: pathlib.Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_another_command_uses_the_plans_after_an_iteration_and_then_begins_planned_too(tmp_path):
    first, other, again = (report_of(train(tmp_path, TRAIN + more)) for more in ("", " # other", " # other"))
    assert 0 < other["switched_at_iteration"] < first["switched_at_iteration"]
    assert again["planned_from_start"] and again["clean_iterations"] == again["iterations"]


def test_a_script_that_begins_otherwise_is_recorded_as_if_no_run_had_been_before(tmp_path):
    script = tmp_path / "train.py"
    def run() -> dict:
        return report_of(train(tmp_path, f"exec(open({str(script)!r}).read())"))
    script.write_text(TRAIN)
    first, second = run(), run()
    assert second["planned_from_start"]
    script.write_text(TRAIN.replace("(32, 64)", "(40, 80)").replace("(64, 32)", "(80, 40)").replace("(16, 32)", "(24, 40)"))
    changed, after = run(), run()
    assert changed["state"] == "planned" and not changed["planned_from_start"] and changed["replans"] == 0
    assert changed["switched_at_iteration"] == first["switched_at_iteration"]
    assert after["planned_from_start"] and after["clean_iterations"] == after["iterations"]


@pytest.mark.parametrize("settings", [{"WORLD_SIZE": "2", "RANK": "0"}, {"STOWAGE_BUDGET": "80GiB"},
                                      {"STOWAGE_TRACE": "/dev/null"}, {"STOWAGE_PLAN_CACHE": "off"}])
def test_a_run_under_other_conditions_begins_anew(caches, tmp_path, settings):
    shutil.copytree(caches, tmp_path / "copy")
    first, other = (report_of(train(tmp_path / "copy", **chosen)) for chosen in ({}, settings))
    assert first["switched_at_iteration"] < other["switched_at_iteration"]


@pytest.mark.parametrize("caches", ["/proc/none", "/dev/null", "relative"])
def test_no_place_for_plans_is_no_word(caches):
    done = train(pathlib.Path(caches), HOME="/proc/none")
    assert report_of(done)["state"] == "planned" and done.stderr == ""


def test_a_folder_in_which_others_may_write_is_not_used(tmp_path):
    (tmp_path / "stowage" / "plans").mkdir(parents=True)
    (tmp_path / "stowage" / "plans").chmod(0o777)
    assert train(tmp_path).stderr == ""
    told = [line for line in train(tmp_path, STOWAGE_VERBOSE="1").stderr.splitlines() if "STOWAGE_PLAN_CACHE" in line]
    assert len(told) == 1 and "others may write to it" in told[0]
    assert kept(tmp_path) == []
    done = cache(tmp_path)
    assert done.returncode == 1 and "others may write to it" in done.stderr


def test_list_shows_what_is_kept(caches):
    done = cache(caches)
    assert done.returncode == 0 and done.stderr == ""
    head, columns, row = done.stdout.splitlines()
    assert head.startswith(f"{caches}/stowage/plans: 1 plan, ") and columns.split()[:3] == ["job", "device", "torch"]
    assert "small job" in row and "CPU" in row and row.endswith(" min")
    assert cache(caches, "list").stdout in (done.stdout, cache(caches).stdout)  # ages are in minutes


def test_list_as_json_has_the_details(caches):
    listed = json.loads(cache(caches, "list", "--json").stdout)
    file, = listed["files"]
    assert listed["folder"] == f"{caches}/stowage/plans" and listed["bytes"] == file["bytes"]
    assert (file["job"], file["device"], file["world_size"], file["backend"]) == ("small job", "cpu", 1, "host")
    assert file["plans"][0]["entries"] > 10 and file["plans"][0]["height_bytes"] > 0 and file["seconds_since_use"] < 3600


def test_list_tells_of_a_file_that_cannot_be_read(filled):
    damaged = next(path for path in kept(filled) if path.name.endswith("0123.stowplan"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert f"{damaged.name}  cannot be read" in cache(filled).stdout
    assert any("damaged" in file.get("problem", "") for file in json.loads(cache(filled, "--json").stdout)["files"])


def test_path_prints_the_folder(tmp_path):
    assert cache(tmp_path, "path").stdout == f"{tmp_path}/stowage/plans\n"
    assert cache(tmp_path, "path", STOWAGE_PLAN_CACHE="elsewhere").stdout == "elsewhere\n"
    assert stowage("cache", "path", HOME="/none", XDG_CACHE_HOME="", STOWAGE_PLAN_CACHE="").stdout == (
        "/none/.cache/stowage/plans\n")
    assert not (tmp_path / "stowage").exists()


def test_the_command_and_the_library_mean_the_same_folder(tmp_path):
    rows = json.loads(stowage("settings", "--json", XDG_CACHE_HOME=str(tmp_path), STOWAGE_PLAN_CACHE="").stdout)
    row = next(row for row in rows if row["variable"] == "STOWAGE_PLAN_CACHE")
    assert row["value"] == row["default"] == cache(tmp_path, "path").stdout.strip()


def test_clear_removes_old_plans_or_all_and_nothing_else(filled):
    assert "removed 0 plans" in cache(filled, "clear", "--older-than", "41").stdout
    assert "removed 1 plan, " in cache(filled, "clear", "--older-than", "30").stdout
    assert len(kept(filled)) == 2
    assert "removed 1 plan, " in cache(filled, "clear").stdout
    assert [path.name for path in kept(filled)] == ["mine.txt"]


def test_an_empty_or_missing_folder_is_no_error(tmp_path):
    for arguments, told in (((), "0 plans"), (("clear",), "removed 0 plans"), (("--json",), '"files": []')):
        done = cache(tmp_path, *arguments)
        assert done.returncode == 0 and told in done.stdout, done.stderr


@pytest.mark.parametrize("arguments, settings, complaint", [
    (("nonsense",), {}, "action: nonsense not in"),
    (("clear", "--older-than", "-1"), {}, "--older-than"),
    (("list", "--older-than", "3"), {}, "stowage cache clear"),
    (("clear", "--json"), {}, "stowage cache list"),
    (("path",), {"STOWAGE_PLAN_CACHE": "off"}, "no plans are kept"),
    ((), {"XDG_CACHE_HOME": "", "HOME": ""}, "no plans are kept"),
])
def test_a_mistake_is_one_line(tmp_path, arguments, settings, complaint):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "STOWAGE_PLAN_CACHE": ""} | settings
    done = stowage("cache", *arguments, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("stowage cache: error: ") and done.stderr.count("\n") == 1 and complaint in done.stderr


def test_the_command_needs_no_torch(tmp_path):
    program = ("import sys; sys.modules['torch'] = None\n"
               "from stowage import cli; sys.exit(cli.main(['cache', 'path']))")
    done = python(program, warm=False, XDG_CACHE_HOME=str(tmp_path), STOWAGE_PLAN_CACHE="")
    assert done.stdout == f"{tmp_path}/stowage/plans\n", done.stderr
