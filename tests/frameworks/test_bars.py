"""What benchmarks/frameworks makes of reports: counts, shares, bars, and the page's tables."""

import pytest

from benchmarks import paired
from benchmarks.frameworks import bars, figures, frameworks_budget, page, run
from benchmarks.frameworks.figures import Measured
from benchmarks.frameworks.rows import DYNAMIC, FOLDER, ROWS, SOUND, STEADY, summary
from benchmarks.frameworks.run import Outcome

MIB = 1 << 20
NAMES = {kind: next(name for name, row in ROWS.items() if row.kind == kind) for kind in (STEADY, DYNAMIC, SOUND)}


def report(planned=0, clean=0, hits=0, upstream=0, misses=(0, 0, 0), **more) -> dict:
    return {"state": "planned", "planned_iterations": planned, "clean_iterations": clean, "hits": hits,
            "planned_upstream": upstream, "misses": dict(zip(figures.REASONS, misses)), "replans": 0,
            "plans": [{}], "plans_height_bytes": 5 * MIB, "plans_lower_bound_bytes": 2 * MIB} | more


def outcome(reserved=100, losses="a", looks=(), reports=(), status=0) -> Outcome:
    left = {"losses": losses, "parameters": "b", "steps": 90, "reserved": reserved * MIB,
            "reserved_ever": 2 * reserved * MIB, "looks": list(looks)}
    return Outcome(status, left={} if status else left, reports=list(reports))


def measured(last=None, stowage=100, native=100, expandable=100, cpu=1.0, **planned) -> Measured:
    """A row that reaches all bars, but for what is given."""
    last = last or report(planned=90, clean=88, hits=9000, misses=(1, 1, 0))
    looks = [report(planned=30, clean=30, hits=3000), last]
    return Measured({"plain": outcome(), "planned": outcome(looks=looks, reports=[last], **planned),
                     "native": outcome(native), "expandable": outcome(expandable),
                     "stowage": outcome(stowage, looks=looks, reports=[last])}, paired.ratio([cpu], [1.0]))


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_programs_that_are_there(name):
    row = ROWS[name]
    assert (FOLDER / row.file).is_file() and summary(row.file)
    assert not row.before or (FOLDER / row.before[0]).is_file()
    assert ("torch.distributed.run" in row.command) == (row.ranks > 1)


def test_every_program_is_in_a_row_and_asks_nothing_of_stowage():
    programs = {path.name for path in FOLDER.glob("*.py")} - {"left.py"}
    assert programs == {row.file for row in ROWS.values()}
    assert not [name for name in programs if "stowage" in (FOLDER / name).read_text().lower()]


def test_counts_are_those_between_two_looks():
    first, last = report(30, 20, 100, 10, (5, 0, 1)), report(90, 75, 400, 20, (6, 3, 1), improvised=7)
    misses = {"unexpected": 1, "slot_in_use": 3, "beyond_plan": 0}
    assert figures.late([first, last]) == figures.Counts(60, 55, 300, 10, 7, misses)
    assert figures.late([{}, last]) == figures.counts(last) and figures.late([]) == figures.Counts()


def test_after_a_new_plan_only_what_came_since_counts():
    first, last = report(30, 20, 100), report(40, 39, 900, replans=1)
    assert figures.late([first, last]) == figures.counts(last)


def test_all_processes_count_and_improvised_requests_are_requests():
    reports = [report(hits=80, misses=(2, 0, 0)), report(hits=70, upstream=8, improvised=40)]
    ended = outcome(reports=reports)
    assert figures.whole(reports).requests == 200
    assert (figures.off_plan(ended), figures.from_arena(ended)) == (0.01, 0.95)
    assert figures.off_plan(outcome()) == figures.from_arena(outcome()) == figures.clean_share(outcome()) == 0


def test_bytes_go_before_requests():
    assert figures.from_arena(outcome(reports=[report(hits=1, served_bytes=30, missed_bytes=10)])) == 0.75


def test_the_height_is_that_of_the_highest_plan():
    assert figures.height(outcome(reports=[{"state": "none"}, report()])) == (5 * MIB, 2 * MIB)
    assert figures.height(outcome(reports=[report(plans=[])])) is None


UNCLEAN = report(planned=90, clean=86, hits=9000, misses=(1, 1, 0))
OFF = report(planned=90, clean=90, hits=980, misses=(0, 15, 0))
GIVEN_UP = report(planned=90, clean=90, hits=9000, state="off")
ELSEWHERE = report(planned=90, hits=700, misses=(300, 0, 0))


@pytest.mark.parametrize("kind, changed, missed", [
    (STEADY, {}, []),
    (STEADY, {"last": UNCLEAN}, ["clean 93.3%"]),
    (STEADY, {"last": report()}, ["clean 0.0%"]),
    (STEADY, {"last": GIVEN_UP}, ["off at the end"]),
    (SOUND, {"last": GIVEN_UP}, []),
    (STEADY, {"last": OFF}, ["off the plan 1.5%"]),
    (STEADY, {"stowage": 101}, ["reserved 1.010 of expandable", "reserved 1.010 of native"]),
    (STEADY, {"native": 98}, ["reserved 1.020 of native"]),
    (STEADY, {"cpu": 1.03}, ["CPU time 1.030"]),
    (STEADY, {"losses": "c"}, ["other bits (planned)"]),
    (STEADY, {"status": 1}, ["planned failed (1)"]),
    (DYNAMIC, {"last": OFF, "native": 90}, []),
    (DYNAMIC, {"last": ELSEWHERE}, ["from the arena 70.0%"]),
    (DYNAMIC, {"stowage": 101}, ["reserved 1.010 of expandable"]),
    (SOUND, {"last": ELSEWHERE, "stowage": 103}, []),
    (SOUND, {"stowage": 106}, ["reserved 1.060 of the better"]),
])
def test_each_kind_of_row_has_its_bars(kind, changed, missed):
    assert bars.faults(NAMES[kind], measured(**changed)) == missed


def test_what_was_not_measured_is_not_missed():
    assert bars.faults(NAMES[STEADY], Measured({"plain": outcome()})) == []


def test_the_verdict_names_rows_and_what_they_miss():
    rows = {NAMES[STEADY]: measured(cpu=1.03), NAMES[DYNAMIC]: measured()}
    assert list(bars.missed(rows)) == [NAMES[STEADY]]
    assert bars.verdict(rows).endswith(f"miss their bars:\n\n- {NAMES[STEADY]}: CPU time 1.030\n")
    assert "reach" in bars.verdict({NAMES[DYNAMIC]: measured()})


@pytest.mark.parametrize("kind, again, fault", [
    (STEADY, {"planned_from_start": True}, []), (STEADY, {"planned_from_start": False}, ["second run recorded again"]),
    (STEADY, {"planned_from_start": True, "state": "off"}, ["second run off at the end"]),
    (DYNAMIC, {"planned_from_start": False}, [])])
def test_a_second_run_begins_planned_and_stays_so(kind, again, fault):
    row = measured()
    row.outcomes["again"] = outcome(reports=[report(**again)])
    assert [text for text in bars.faults(NAMES[kind], row) if "second run" in text] == fault


def test_each_table_has_as_many_cells_in_each_line():
    rows = {NAMES[STEADY]: measured(), NAMES[DYNAMIC]: Measured({"plain": outcome(), "planned": outcome(status=1)}),
            NAMES[SOUND]: Measured({"plain": outcome(), "native": outcome(status=1)})}
    rows[NAMES[STEADY]].outcomes["again"] = outcome(reports=[report(hits=900, misses=(1, 0, 0), planned_from_start=True)])
    tables = page.tables(rows)
    assert {about: len(text.splitlines()) - 2 for about, text in tables.items()} == {
        "plans": 2, "memory": 2, "again": 1}
    assert "| yes | planned | 901 | 1 (0.11%) | 0 |" in tables["again"]
    for text in tables.values():
        assert len({line.count("|") for line in text.splitlines()}) == 1, text
    assert "| 58 / 60 (97%) |" in tables["plans"] and "| 100, 200 | 100, 200 | 100, 200 | 1.000 |" in tables["memory"]
    assert all(part in page.text("Origin.", rows) for part in tables.values())


def test_stowage_is_there_only_in_its_modes(tmp_path):
    for mode in ("plain", "planned", "budget 60%"):
        asked = {name for name in run.environment(mode, str(tmp_path)) if name.startswith("STOWAGE")}
        assert bool(asked - {"STOWAGE_PLAN_CACHE"}) == (mode != "plain")


def test_a_job_that_needs_more_than_its_budget_misses_no_bar_and_the_page_says_what_it_needs():
    row, ended = measured(), outcome(status=1)
    row.outcomes["budget 70%"] = ended
    assert bars.faults(NAMES[STEADY], row) == ["budget 70% failed (1)"]
    ended.errors = ("torch.OutOfMemoryError: stowage: the budget of 70% (106775900 bytes) is used up: 197 KiB more do not "
                    "fit. Held: 130 MiB. A budget of 130 MiB would be enough here.")
    assert bars.faults(NAMES[STEADY], row) == []
    assert frameworks_budget.line("A", "70%", row)[:4] == ("A", "70%", "–", "out of memory: 130 MiB would be enough")


SCHEDULE = {"kinds": 2, "followed": True, "reason": "", "iterations": 50, "resynced": 4, "left": 3, "recompute_ms": 5.0,
            "ops_ms": 50.0}


def under_budget(**more) -> Outcome:
    budget = {"peak_held_bytes": 6 * MIB, "limit_bytes": 7 * MIB, "recompute_ms": 12.0, "ops_ms": 100.0,
              "schedule": SCHEDULE}
    done = outcome(looks=[report(planned=30, clean=30, hits=3000), report(planned=90, clean=88, hits=9000)],
                   reports=[report(planned=90, clean=88, hits=9000, budget=budget | more)])
    done.cpu_s = 3.0
    return done


def test_a_budget_s_line_has_all_of_its_cells():
    row = Measured({"plain": outcome(), "budget 60%": under_budget()})
    row.outcomes["plain"].cpu_s = 2.0
    line = frameworks_budget.line("A", "60%", row)
    assert line == ("A", "60%", "same", "planned", "6.0 of 7.0", "58 / 60 (97%)", "0.00%", "2", "50, 4, 3", "12.0%", "10.0%",
                    "1.50")
    assert len(line) == len(frameworks_budget.HEAD) and frameworks_budget.faults({"A": row}) == []
    assert "None fails that." in frameworks_budget.text("Origin.", "", [])


def test_a_byte_above_the_limit_is_a_fault():
    row = Measured({"plain": outcome(), "budget 60%": under_budget(peak_held_bytes=8 * MIB)})
    assert frameworks_budget.faults({"A": row}) == ["A: budget 60% is exceeded"]
    row.outcomes["budget 60%"] = outcome(status=1)
    assert frameworks_budget.faults({"A": row}) == ["A: budget 60% failed (1)"]
    assert len(frameworks_budget.line("A", "60%", row)) == len(frameworks_budget.HEAD)
