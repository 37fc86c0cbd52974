"""Jobs of the GPU suite: what they say, and what is left of those that crash, hang, or run out of memory."""

import os
import re
import time

import pytest

from tools.gpu import budgets, jobs, machine, safety, turns
from tools.gpu.api_calls import MEMORY, name_of
from tools.gpu.op_times import kernels_of_iterations
from tools.gpu.jobs import JobFailed, spec
from tools.gpu.largest_batch import MOST_TRIES, NEAR, Search
from tools.gpu.results import Result
from tools.gpu.suite import OutOfTime, Run


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "WORKER", "tests/tools/gpu_fake_worker.py")
    made = Run(False, tmp_path)
    made.ends = time.monotonic() + 60
    return made


def ends_soon(process: int) -> bool:
    """It was killed, which takes a moment on a busy machine."""
    until = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_alive(process)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:
            return file.read().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_answers_come_in_order_and_settings_arrive(run):
    found = jobs.once(run, spec("m", extra={"STOWAGE_BUDGET": "60%"}), [["say", 1], ["say", 2, "STOWAGE_BUDGET"]])
    assert [answer["said"] for answer in found] == [1, 2]
    assert found[1]["settings"] == {"STOWAGE_BUDGET": "60%"}


def test_a_plain_job_has_no_setting_of_stowage(run, monkeypatch):
    monkeypatch.setenv("STOWAGE", "1")
    (found,) = jobs.once(run, spec("m"), [["say", 1, "STOWAGE", "STOWAGE_REPORT"]])
    assert found["settings"] == {"STOWAGE": None, "STOWAGE_REPORT": None}


def test_a_job_that_raises_fails_with_its_output(run):
    with pytest.raises(JobFailed) as error:
        jobs.once(run, spec("m", label="mine"), [["say", 1], ["raise", "no such op"]])
    assert "mine ended with 1: " in str(error.value) and "ValueError: no such op" in str(error.value)
    assert "ValueError: no such op" in (run.folder / "logs" / "mine.log").read_text()


def test_a_job_that_crashes_is_run_once_more_with_launches_that_block(run):
    failures = []
    assert jobs.attempt(run, spec("m"), [["crash"]], lambda what, output: failures.append(output)) is None
    (output,) = failures
    assert "signal SIGSEGV" in output and "an illegal memory access, in addmm" in output


def test_a_hanging_job_is_killed_with_all_that_it_started(run):
    run.ends = time.monotonic() + 2
    with pytest.raises(OutOfTime) as error:
        jobs.once(run, spec("m"), [["say", 1], ["hang"]])
    child = int(re.search(r"child (\d+)", str(error.value))[1])
    time.sleep(0.1)
    assert ends_soon(child)


def test_where_no_time_is_left_nothing_is_begun(run):
    run.ends = time.monotonic()
    with pytest.raises(OutOfTime, match="was not begun"):
        jobs.once(run, spec("m"), [["say", 1]])


def test_a_conversation(run):
    with jobs.Talk(run, spec("m")) as talk:
        assert talk.receive() == {"built": "fake"}
        assert talk.ask("say", "a")["said"] == "a" and talk.ask("say", "b")["said"] == "b"
        process = talk.process
    assert process.poll() == 0


def test_a_conversation_that_breaks_off_tells_why(run):
    with jobs.Talk(run, spec("m")) as talk:
        talk.receive()
        with pytest.raises(JobFailed, match="no such op"):
            talk.ask("raise", "no such op")


def test_a_conversation_that_hangs_is_out_of_time_and_killed(run):
    with jobs.Talk(run, spec("m")) as talk:
        talk.receive()
        run.ends = time.monotonic() + 1.5
        with pytest.raises(OutOfTime) as error:
            talk.ask("hang")
    assert ends_soon(int(re.search(r"child (\d+)", str(error.value))[1]))


def test_one_of_a_group_may_fail_and_the_others_go_on(run):
    result = Result()
    specs = {"a": spec("m", extra={"FAKE_SECONDS": "2"}), "b": spec("m"), "c": spec("m", extra={"FAKE_SECONDS": "3"})}
    with turns.Group(run, result, specs) as group:
        assert group.ask("b", "raise", "no such op") is None
        assert set(group.each("say", 1)) == {"a", "c"}
        times = group.take_turns(rounds=3, turn_s=0.5, iteration_s=0.1)
    assert times == {"a": [2.0] * 3, "c": [3.0] * 3}
    assert turns.ratio(times, "c", "a")["median"] == 1.5 and turns.ratio(times, "b", "a") is None
    assert [failure["what"] for failure in result.failures] == ["b"]


def test_out_of_memory_under_a_budget_is_an_answer_and_otherwise_a_failure(run):
    for tolerated, failures in ((budgets.out_of_memory, 0), (lambda told: False, 1)):
        result = Result()
        with turns.Group(run, result, {"50 %": spec("m")}, tolerated) as group:
            assert group.ask("50 %", "oom") is None
            assert group.ask("50 %", "say", 1) is None
        assert len(result.failures) == failures and ("50 %" in group.ended) == (failures == 0)


def test_jobs_side_by_side_keep_their_order():
    run = Run(False, None)
    assert jobs.side_by_side(run, [lambda i=i: i for i in range(20)], 4) == list(range(20))


def test_memchecks_summary_is_read(run, monkeypatch):
    tool = run.folder / "compute-sanitizer"
    tool.write_text("#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\n\"$@\"\n"
                    "echo '========= ERROR SUMMARY: 3 errors'\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(machine, "compute_sanitizer", lambda: str(tool))
    errors, output = safety.under_memcheck(run, "memcheck", ["sh", "-c", "echo the job"], dict(os.environ))
    assert errors == 3 and "the job" in output
    assert safety.errors_in("nothing") is None and safety.errors_in("ERROR SUMMARY: 0 errors") == 0


@pytest.mark.parametrize("most", [1, 2, 7, 8, 9, 100, 161, 1000])
@pytest.mark.parametrize("start", [1, 8, 160])
def test_the_search_ends_near_the_largest_batch(most, start):
    found, tried = Search({}, start), []
    while not found.over():
        number = found.found["next"]
        assert number not in tried, "the same batch twice"
        tried.append(number)
        found.put(number <= most)
        found = Search(found.found, start)  # as another call would go on
    low, high = found.found["trained"], found.found["failed"]
    assert len(tried) <= MOST_TRIES
    if len(tried) < MOST_TRIES:
        assert low <= most < high and (high <= max(low + 1, NEAR * low))


def test_where_not_even_one_sample_trains_the_search_ends():
    found = Search({}, 4)
    while not found.over():
        found.put(False)
    assert found.found["trained"] == 0 and found.found["failed"] == 1


@pytest.mark.parametrize("model, percent, text", [
    ("resnet50_b184", 66, "3.2 (at 66)"), ("resnet50_b184", 33, "11.9 (at 33)"), ("resnet50_b184", 75, "–"),
    ("googlenet", 33, "15.8 (at 33)"), ("vgg16", 33, "–"), ("gpt2_medium", 50, "–")])
def test_published_figures_are_those_of_a_near_budget(model, percent, text):
    assert budgets.published(model, percent) == text


def test_a_prediction_is_the_schedules_or_none():
    schedule = {"since_iteration": 5, "recompute_ms": 2.0, "ops_ms": 50.0}
    assert budgets.predicted({"budget": {"schedule": schedule}}) == 4.0
    assert budgets.predicted({"budget": {"schedule": schedule | {"since_iteration": 0}}}) is None
    assert budgets.predicted({}) is None


@pytest.mark.parametrize("name, counted", [
    ("cudaMalloc", True), ("cudaMalloc_v3020", True), ("cudaFree_v3020", True), ("cudaMallocAsync_v11020", True),
    ("cuMemCreate", True), ("cuMemMap", True), ("cuMemUnmap", True), ("cuMemSetAccess", True), ("cuMemAlloc_v2", True),
    ("cuMemAddressReserve", True), ("cuMemFree_v2", True), ("cuMemRelease", True),
    ("cudaMemcpyAsync", False), ("cudaMallocHost_v3020", False), ("cudaFreeHost_v3020", False), ("cuMemcpyHtoD_v2", False),
    ("cuMemHostAlloc", False), ("cuMemAllocHost_v2", False), ("cuMemFreeHost", False), ("cuMemGetInfo_v2", False),
    ("cudaLaunchKernel", False), ("cuMemsetD8Async", False)])
def test_which_calls_take_or_give_device_memory(name, counted):
    assert bool(MEMORY.match(name)) is counted


def test_a_calls_name_has_no_version():
    assert name_of("cudaMalloc_v3020") == "cudaMalloc" and name_of("cuMemFree_v2") == "cuMemFree"
    assert name_of("cuMemCreate") == "cuMemCreate" and name_of("cudaFreeAsync_v11020_ptsz") == "cudaFreeAsync"


def fake_smi(folder, monkeypatch, body: str) -> None:
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_driver_that_does_not_know_a_name_is_asked_for_the_others(tmp_path, monkeypatch):
    fake_smi(tmp_path, monkeypatch, 'case "$1" in *,*|*mig*) exit 2;; *name) echo "NVIDIA H100";; *used) echo 300;; esac')
    assert machine.query("name", "mig.mode.current", "memory.used") == {"name": "NVIDIA H100", "memory.used": "300"}
    assert machine.used_bytes() == 300 << 20


def test_without_nvidia_smi_nothing_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.query("name") == {} and machine.used_bytes() is None and machine.others() == []


def test_kernels_belong_to_the_iteration_that_launched_them():
    """However late the device ran them; those of no op, and of iterations that are not steady, do not count."""
    def iteration(name, begin):
        return {"cat": "iteration", "name": name, "ts": begin, "dur": 10}

    def op(number, at):
        return {"cat": "cpu_op", "ts": at, "args": {"External id": number}}

    def kernel(ns, at, **args):
        return {"cat": "kernel", "ts": at, "args": {"duration ns": ns} | args}
    events = [iteration("iteration 1", 0), iteration("steady iteration 2", 10), iteration("steady iteration 3", 20),
              op(1, 5), op(2, 12), op(3, 19), op(4, 21), kernel(100, 6, **{"External id": 1}),
              kernel(20, 13, **{"External id": 2}), kernel(3, 25, **{"External id": 3}), kernel(7, 26, **{"External id": 4}),
              kernel(1000, 27)]
    assert kernels_of_iterations(events) == [(2, 23), (1, 7)]
