"""`stowage timeline`, as a process: a real job's trace becomes a timeline, and what is no trace becomes one line."""

import json

import pytest

from tests.python.doors import ROOT
from tests.python.test_cli import stowage
from tests.zoo import harness

OLD = ROOT / "benchmarks" / "instances" / "zoo" / "lstm.stowtrace"  # of before traces had times


@pytest.fixture(scope="module", params=["cpu", "simulated"])
def trace(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / f"{request.param}.stowtrace"
    harness.run_model("mlp", "warm_entry_point", device=request.param, extra={"STOWAGE_TRACE": str(path)})
    return path


def slices(events, category):
    return [event for event in events if event.get("cat") == category]


def test_a_jobs_trace_becomes_a_timeline(trace, tmp_path):
    out = tmp_path / "out.json"
    done = stowage("timeline", str(trace), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    timeline = json.loads(out.read_text())
    events = timeline["traceEvents"]
    names = [event["name"] for event in slices(events, "phase")]
    assert names[:2] == ["recording", "planning"] and "planned" in names and names[-1] == "trace written"
    assert slices(events, "iteration")[-1]["name"].startswith("steady iteration")
    ops = slices(events, "cpu_op")
    assert {"aten::addmm", "aten::mm"} <= {op["name"] for op in ops}
    timed_by = {op["args"]["timed by"] for op in ops}
    assert timed_by == ({"cupti"} if trace.stem == "simulated" else {"host"})
    assert bool(slices(events, "kernel")) == (trace.stem == "simulated")
    live = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
    assert min(live) >= 0 and max(live) > 0


def test_rows_never_hold_two_slices_that_cross(trace):
    """Viewers draw a row as a stack: a slice lies in another one or beside it. Microseconds have three digits."""
    rows = {}
    for event in json.loads(stowage("timeline", str(trace), "--out", "-").stdout)["traceEvents"]:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert rows
    for row, spans in rows.items():
        open_until = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= begin + 0.002:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.002, (row, begin, end, open_until[-1])
            open_until.append(end)


@pytest.mark.parametrize("arguments, said", [
    (["nowhere.stowtrace"], "nowhere.stowtrace"), ([str(ROOT / "README.md")], "README.md"), ([str(OLD)], "no times"),
    ([str(OLD), "--nonsense"], "see stowage timeline --help"), ([], "see stowage timeline --help")])
def test_what_cannot_be_drawn_is_one_line(arguments, said):
    done = stowage("timeline", *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("stowage timeline: error: ") and said in done.stderr and done.stderr.count("\n") == 1


def test_a_failure_leaves_the_file_that_was_there(tmp_path):
    out = tmp_path / "out.json"
    out.write_text("earlier")
    assert stowage("timeline", str(OLD), "--out", str(out)).returncode == 1
    assert out.read_text() == "earlier" and list(tmp_path.iterdir()) == [out]
