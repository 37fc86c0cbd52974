"""The page of a GPU suite's results says what is in the JSON file: goals, failures with their output, what was not run."""

import json

import pytest

from tests.style.files import read
from tests.tools.gpu_fakes import IDENTITY, failed, missed, passed
from tools.gpu.page import page
from tools.gpu.results import Result
from tools.gpu.state import State

KEYS = {
    "content": ("layout", "identity", "machine", "calls", "steps"),
    "step": ("status", "tables", "figures", "checks", "failures", "left_out", "notes", "cut", "kept", "attempts", "section",
             "seconds", "estimate_s"),
    "figure": ("what", "value", "unit", "baseline", "spread", "goal", "held"),
}


def table_step(rows: list[tuple], title: str = "Memory") -> Result:
    result = passed()
    for row in rows:
        result.row(title, ("model", "reserved"), *row)
    return result


@pytest.fixture
def state(tmp_path):
    made = State([tmp_path / "gpu.json"], IDENTITY)
    made.content["machine"] = {"commit": "abcdef", "changed": True, "gpu": {"name": "a GPU", "pstate": "P0"},
                               "others_on_the_gpu": ["123, python, 400 MiB"]}
    made.content["calls"] = [{"date": "2026-11-24", "seconds": 450, "gpu_uuid": None}]
    return made


def put(state, name: str, result: Result, section: str = "Memory and time") -> None:
    state.put(name, result, section=section, seconds=1.5, estimate_s=10)


def test_the_layout_is_documented(state):
    put(state, "a", table_step([("gpt2", 5)]))
    content = json.loads(state.paths[0].read_text())
    text = read("docs/gpu_check.md")
    assert set(content) == set(KEYS["content"])
    assert set(content["steps"]["a"]) == set(KEYS["step"])
    assert set(content["steps"]["a"]["figures"][0]) == set(KEYS["figure"])
    assert [key for keys in KEYS.values() for key in keys if f"`{key}`" not in text] == []
    assert f"layout {content['layout']}" in text


def test_tables_of_one_title_are_one_table(state):
    put(state, "a", table_step([("gpt2", 5), ("bert", 6)]))
    put(state, "b", table_step([("vit", 7)]))
    text = page(state.content, {}, "tools/gpu_check")
    assert text.count("### Memory") == 1
    assert "| gpt2 | 5 |\n| bert | 6 |\n| vit | 7 |\n" in text


def test_rows_of_a_model_stand_together(state):
    put(state, "a", table_step([("gpt2", 66), ("gpt2", 50), ("bert", 66)]))
    put(state, "b", table_step([("gpt2", 75), ("bert", 40)]))
    text = page(state.content, {}, "tools/gpu_check")
    assert "| gpt2 | 75 |\n| gpt2 | 66 |\n| gpt2 | 50 |\n| bert | 66 |\n| bert | 40 |\n" in text


def test_goals_stand_with_their_baseline_and_what_became_of_them(state):
    put(state, "a", missed())
    text = page(state.content, {}, "tools/gpu_check")
    assert "| memory / peak | native: 1.200 | ≤ 1.020 | 1.500 | **missed** |" in text
    assert "- ran well and missed a goal: a" in text


def test_failures_stand_with_their_output(state):
    put(state, "a", failed())
    result = Result()
    result.check("same bits", False, "3 of 400 values differ")
    put(state, "b", result)
    text = page(state.content, {}, "tools/gpu_check")
    assert "- a: a job ended with signal SIGSEGV\n\n```\nthe command\n" in text and "the last line\n```" in text
    assert "- b: same bits: 3 of 400 values differ" in text
    assert "2 FAILED" in text


def test_what_was_not_run_is_listed_by_reason(state):
    put(state, "a", passed())
    text = page(state.content, {"b": "no time", "c": "torchvision is not installed here", "d": "no time"}, "tools/gpu_check")
    assert "Of 4 steps 1 passed; 3 were not run." in text
    assert "- b, d: no time\n- c: torchvision is not installed here" in text


def test_the_machine_is_told(state):
    put(state, "a", passed())
    text = page(state.content, {}, "tools/gpu_check")
    assert "| commit | abcdef, with changes |" in text and "| other processes on the GPU | 123, python, 400 MiB |" in text
    assert "| nvidia-smi: pstate | P0 |" in text


def test_a_simulated_page_says_so(state):
    state.content["identity"] = IDENTITY | {"simulated": True}
    put(state, "a", passed())
    assert "**On the simulated device**" in page(state.content, {}, "tools/gpu_check --dry")


def test_output_cannot_leave_its_block(state):
    result = Result()
    result.fail("a job", "```\n# a heading")
    put(state, "a", result)
    text = page(state.content, {}, "tools/gpu_check")
    assert "'''\n# a heading\n```" in text
