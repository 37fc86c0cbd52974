"""`stowage place`, as a process: what it prints, what it writes, how it ends."""

import csv
import json

import pytest

from tests.python.doors import ROOT
from tests.python.test_cli import stowage

A = ROOT / "benchmarks" / "instances" / "A.1048576.csv"


def test_a_problem_is_placed_in_its_capacity_and_written_as_it_came(tmp_path):
    output = tmp_path / "placed.csv"
    done = stowage("place", str(A), "--capacity", "1MiB", "--output", str(output), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["height"] == result["lower_bound"] == 1048576 and result["proved"] and result["fits"]
    assert {"technique", "seconds", "cpu_seconds", "gap", "work", "n", "conflict"} <= set(result)
    rows = list(csv.DictReader(output.open()))
    assert list(rows[0]) == ["id", "lower", "upper", "size", "offset"]
    assert len(rows) == result["n"] == 154
    spans = [[int(row[key]) for key in ("lower", "upper", "offset", "size")] for row in rows]
    assert max(offset + size for _, _, offset, size in spans) == 1048576
    for i, (lower, upper, offset, size) in enumerate(spans):
        assert not any(lower < u and lo < upper and offset < o + s and o < offset + size for lo, u, o, s in spans[:i])


def test_a_capacity_that_is_too_small_has_its_own_status_and_is_explained(tmp_path):
    output = tmp_path / "placed.csv"
    done = stowage("place", str(A), "--capacity", "1000000", "--output", str(output))
    assert done.returncode == 3, done.stderr
    assert "which is proved" in done.stdout and "not fit it even alone" in done.stdout
    assert not output.exists()


@pytest.mark.parametrize("text, complaint", [
    ("id,lower,upper,size\na,0,5,x\n", ':2: size "x" is not a whole number'),
    ("id,lower,upper\n", ":1: there is no column size"),
    ("id,lower,upper,size,offset\na,0,5,4,0\nb,0,5,4,2\n", "fixed items overlap"),
    ("id,lower,upper,size\na,-3,5,4\n", ":2: lower -3 is negative"),
])
def test_a_wrong_file_is_one_clear_error(tmp_path, text, complaint):
    problem = tmp_path / "wrong.csv"
    problem.write_text(text)
    done = stowage("place", str(problem), "--output", "none")
    assert done.returncode == 1
    assert done.stderr.startswith("stowage place: error: ") and done.stderr.count("\n") == 1 and complaint in done.stderr


def test_the_work_limit_makes_it_the_same_on_any_number_of_threads(tmp_path):
    results = []
    for threads in ("1", "2"):
        done = stowage("place", str(A), "--output", "-", "--work-limit", "20000000", "--threads", threads)
        assert done.returncode == 0, done.stderr
        results.append(done.stdout)
    assert results[0] == results[1] and results[0].startswith("id,lower,upper,size,offset\n")


@pytest.mark.parametrize("name", ["resnet50", "lstm"])
def test_a_recorded_trace_is_placed_at_its_bound(name, tmp_path):
    trace = ROOT / "benchmarks" / "instances" / "zoo" / f"{name}.stowtrace"
    output = tmp_path / "placed.csv"
    done = stowage("place", str(trace), "--output", str(output), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["proved"] and result["height"] == result["lower_bound"]
    rows = list(csv.DictReader(output.open()))
    assert len(rows) == result["n"] and max(int(row["offset"]) + int(row["size"]) for row in rows) == result["height"]


def test_a_step_of_an_llm_is_placed_at_its_bound():
    pangu = ROOT / "benchmarks" / "instances" / "somas_pangu_2_6b.csv"
    done = stowage("place", str(pangu), "--output", "none", "--json", "--work-limit", "20000000000", "--time-limit", "600")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["n"] == 18692 and result["proved"] and result["height"] == result["lower_bound"]


@pytest.mark.parametrize("techniques", [
    ["--without", "exact,boosting,windows"], ["--without", "memo,restarts,twins,lift,split"],
    ["--with", "lp-solve,releases"]])
def test_techniques_can_be_left_out_and_brought_in(techniques):
    done = stowage("place", str(A), "--output", "none", "--json", "--work-limit", "3000000", *techniques)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["height"] >= result["lower_bound"] >= 1048576
    assert not result["technique"].startswith(("exact", "boost", "window")) or "exact,boosting,windows" not in techniques


@pytest.mark.parametrize("arguments, complaint", [
    ([], "problem is required"),
    ([str(A), "--capacity", "much"], "--capacity"),
    ([str(A), "--capacity", "-5"], "--capacity: -5 is not an amount"),
    ([str(A), "--capacity", "9EiB"], "--capacity is more than 2^62 bytes"),
    ([str(A), "--seed", "-1"], "--seed: -1 is not an amount"),
    ([str(A), "--work-limit", "20000000", "--output", "no-such-folder/x.csv"], "no-such-folder/x.csv: cannot be written"),
    ([str(A), "--time-limit", "-1"], "--time-limit"),
    ([str(A), "--without", "luck"], "--without"),
    ([str(A), "--with", "memo"], "--with"),
    ([str(A), "--nonsense"], "--nonsense"),
    (["no-such-file.csv"], "there is no file no-such-file.csv"),
])
def test_a_wrong_command_line_is_one_clear_error(arguments, complaint):
    done = stowage("place", *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("stowage place: error: ") and done.stderr.count("\n") == 1 and complaint in done.stderr


def test_help_says_how_it_ends():
    done = stowage("place", "--help")
    assert done.returncode == 0
    assert "Usage: stowage place" in done.stdout and "Exit status" in done.stdout
