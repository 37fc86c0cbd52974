"""The page of placement's figures: some sections can be measured again while the others stay."""

from benchmarks.planner.sections.page import HEAD, Section, Verdict, prose, read, write

TITLES = ["Small", "Large"]


def verdict(work, measured, bar=True, goal=False):
    return Verdict(work, "< 2", "< 1", measured, bar, goal)


def page():
    small = Section("Small", [verdict("ten", "1.5"), verdict("twenty", "1.9")], [*prose("On a desk."), "| ten | 1.5 |"])
    return write([small, Section("Large", [verdict("thousand", "3", False)], ["| thousand | 3 |"])], "", TITLES)


def test_a_page_is_read_as_it_was_written():
    rows, bodies = read(page())
    assert list(rows) == ["ten", "twenty", "thousand"]
    assert rows["ten"].endswith("| 1.5 | bar |") and rows["thousand"].endswith("| 3 | neither |")
    assert bodies == {"Small": "On a desk.\n\n| ten | 1.5 |", "Large": "| thousand | 3 |"}


def test_writing_some_sections_keeps_the_others():
    old = page()
    assert write([], old, TITLES) == old
    new = write([Section("Small", [verdict("ten", "0.5", goal=True)], ["| ten | 0.5 |"])], old, TITLES)
    rows, bodies = read(new)
    assert rows["ten"].endswith("| 0.5 | goal |") and rows["twenty"] == read(old)[0]["twenty"]
    assert bodies == {"Small": "| ten | 0.5 |", "Large": "| thousand | 3 |"}
    assert new.count(HEAD) == 1 and new.count("Written by") == 1


def test_prose_keeps_the_line_limit():
    assert max(map(len, prose(*["word"] * 100))) <= 120
