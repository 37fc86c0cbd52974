"""The GPU suite's order of events, with steps that cost no time: deadline, resuming, failures, what was not run."""

import json
import signal

import pytest

from tests.tools.gpu_fakes import IDENTITY, Bench, failed, missed, passed
from tools.gpu.results import Result
from tools.gpu.state import LAYOUT, State
from tools.gpu.suite import PATIENCE, OutOfTime


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def statuses(bench) -> dict[str, str]:
    return {name: step["status"] for name, step in json.loads(bench.path.read_text())["steps"].items()}


def test_all_steps_run_in_order(bench):
    suite = bench.call([bench.step("a"), bench.step("b"), bench.step("c")])
    assert bench.done == ["a", "b", "c"]
    assert statuses(bench) == {"a": "passed", "b": "passed", "c": "passed"}
    assert suite.not_run == {} and suite.exit_status() == 0


def test_a_second_call_goes_on_where_the_time_was_over(bench):
    steps = [bench.step(name) for name in "abcd"]
    first = bench.call(steps, seconds=25)
    assert bench.done == ["a", "b"]
    assert set(first.not_run) == {"c", "d"} and first.exit_status() == 0
    second = bench.call(steps, seconds=25)
    assert bench.done == ["a", "b", "c", "d"]
    assert second.not_run == {} and list(second.state.steps) == list("abcd")


def test_what_would_not_end_in_time_is_not_begun_but_what_would_is(bench):
    suite = bench.call([bench.step("long", 100), bench.step("short", 10)], seconds=50)
    assert bench.done == ["short"]
    assert suite.not_run == {"long": "no time: it takes about 100 s, 46 s were left"}


def test_without_any_step_the_suite_did_not_pass(bench):
    assert bench.call([bench.step("long", 100)], seconds=50).exit_status() == 1


@pytest.mark.parametrize("work, status", [(failed, "failed"), (missed, "missed")])
def test_what_fails_ends_nothing_and_is_told(bench, work, status):
    suite = bench.call([bench.step("a", work=lambda run: work()), bench.step("b")])
    assert statuses(bench) == {"a": status, "b": "passed"}
    assert suite.exit_status() == 1


def test_an_exception_is_a_failure_with_its_traceback(bench):
    def broken(run):
        raise ValueError("a number was expected")
    bench.call([bench.step("a", work=broken), bench.step("b")])
    kept = json.loads(bench.path.read_text())["steps"]
    assert kept["b"]["status"] == "passed"
    assert "in broken" in kept["a"]["failures"][0]["output"]
    assert "ValueError: a number was expected" in kept["a"]["failures"][0]["output"]


def test_a_failures_output_is_kept_beginning_and_end(bench):
    bench.call([bench.step("a", work=lambda run: failed())])
    output = json.loads(bench.path.read_text())["steps"]["a"]["failures"][0]["output"]
    assert output.startswith("the command\n") and output.endswith("the last line") and len(output) < 7000


def test_failures_stay_until_they_are_asked_for_again(bench):
    works = iter([failed(), passed()])
    steps = [bench.step("a", work=lambda run: next(works)), bench.step("b", work=lambda run: missed())]
    bench.call(steps)
    assert bench.call(steps).exit_status() == 1 and bench.done == ["a", "b"]
    suite = bench.suite(steps)
    suite.state.forget(("failed",))
    suite.go()
    assert bench.done == ["a", "b", "a"] and statuses(bench) == {"b": "missed", "a": "passed"}


def test_a_hanging_step_is_a_failure_where_it_had_time_enough(bench):
    def hangs(run):
        bench.clock.now = run.ends + 1
        raise OutOfTime("gpt2 did not answer; its output ends with: waiting")
    suite = bench.call([bench.step("a", 0, hangs, estimate_s=10), bench.step("b")], seconds=10_000)
    assert bench.clock.now == pytest.approx(PATIENCE * 10 + 1 + 10)
    assert statuses(bench) == {"a": "failed", "b": "passed"}
    assert "waiting" in suite.state.steps["a"]["failures"][0]["output"]


def test_a_step_that_the_deadline_cuts_is_done_again(bench):
    works = iter([OutOfTime("gpt2 was still running"), passed()])

    def work(run):
        found = next(works)
        if isinstance(found, Exception):
            raise found
        return found
    steps = [bench.step("a", 20, work)]
    suite = bench.call(steps, seconds=30)
    assert statuses(bench) == {"a": "cut"} and suite.of("cut") == ["a"]
    bench.call(steps)
    assert statuses(bench) == {"a": "passed"} and suite.state.steps["a"]["attempts"] == 1
    assert json.loads(bench.path.read_text())["steps"]["a"]["attempts"] == 2


def test_what_a_step_kept_is_there_for_its_next_part(bench):
    seen = []

    def search(run):
        seen.append(dict(run.kept))
        run.keep({"tried": len(seen)})
        if len(seen) < 3:
            return Result(cut=True, kept={"tried": len(seen)})
        return passed()
    for _ in range(3):
        bench.call([bench.step("a", work=search)])
    assert seen == [{}, {"tried": 1}, {"tried": 2}] and statuses(bench) == {"a": "passed"}


def test_what_was_kept_survives_the_end_of_the_process(bench):
    class Killed(BaseException):
        pass

    def search(run):
        run.keep({"tried": 5})
        raise Killed
    with pytest.raises(Killed):
        bench.call([bench.step("a", work=search)])
    assert State.resumed([bench.path], IDENTITY).kept("a") == {"tried": 5}


@pytest.mark.parametrize("name, value", [("sources", "4567"), ("torch", "2.12.0"), ("device", "another GPU"),
                                         ("driver", "590"), ("simulated", True), ("python", "3.13.0")])
def test_results_of_something_else_are_not_gone_on_from(bench, name, value):
    steps = [bench.step("a")]
    bench.call(steps)
    suite = bench.call(steps, identity=IDENTITY | {name: value})
    assert bench.done == ["a", "a"] and list(suite.state.steps) == ["a"]


def test_results_of_another_layout_are_not_gone_on_from(bench):
    bench.call([bench.step("a")])
    content = json.loads(bench.path.read_text())
    bench.path.write_text(json.dumps(content | {"layout": LAYOUT + 1}))
    assert State.resumed([bench.path], IDENTITY).steps == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"layout": 1}'])
def test_a_damaged_file_is_begun_anew(bench, text):
    bench.path.write_text(text)
    bench.call([bench.step("a")])
    assert bench.done == ["a"]


def test_the_file_with_most_steps_is_gone_on_from(tmp_path):
    for name, count in (("x", 1), ("y", 3), ("z", 2)):
        state = State([tmp_path / name], IDENTITY)
        for number in range(count):
            state.put(f"step {number}", passed())
    found = State.resumed([tmp_path / "x", tmp_path / "new"], IDENTITY, [tmp_path / "y", tmp_path / "z"])
    assert len(found.steps) == 3
    found.save()
    assert json.loads((tmp_path / "new").read_text()) == json.loads((tmp_path / "x").read_text())


def test_what_cannot_be_run_here_is_listed_with_its_reason(bench):
    suite = bench.call([bench.step("a", lacks=lambda run: "torchvision is not installed here"), bench.step("b")])
    assert bench.done == ["b"] and suite.not_run == {"a": "torchvision is not installed here"}


def test_the_simulated_device_has_steps_and_estimates_of_its_own(bench):
    steps = [bench.step("a", estimate_s=9000, simulated_s=5), bench.step("b")]
    suite = bench.call(steps, seconds=100, simulated=True)
    assert bench.done == ["a"] and suite.not_run == {"b": "not on the simulated device"}


def test_a_request_to_end_ends_the_step_and_keeps_the_rest(bench):
    def interrupted(run):
        signal.raise_signal(signal.SIGTERM)
    suite = bench.call([bench.step("a"), bench.step("b", work=interrupted), bench.step("c")])
    assert bench.done == ["a", "b"] and statuses(bench) == {"a": "passed"}
    assert suite.not_run == {"b": "interrupted", "c": "interrupted"} and suite.exit_status() == 1


def test_a_figure_has_a_baseline_and_a_goal_is_judged_within_its_noise():
    result = Result()
    assert result.figure("time", 1.01, "ratio", ("native", 1.0), goal={"at_most": 1.0}, spread=(0.99, 1.03))["held"]
    assert not result.figure("time", 1.05, "ratio", ("native", 1.0), goal={"at_most": 1.0}, spread=(1.02, 1.08))["held"]
    assert result.figure("batch", 3.0, "ratio", ("PyTorch", 1.0), goal={"at_least": 3.0})["held"]
    assert result.figure("time", 9.0, "ms", ("plain", 1.0))["held"] is None
    assert all(figure["baseline"]["what"] for figure in result.figures) and result.status == "missed"


def test_a_row_has_as_many_cells_as_its_head():
    with pytest.raises(ValueError, match="2 cells"):
        Result().row("table", ("a", "b", "c"), 1, 2)
