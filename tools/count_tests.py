"""Adds up what CTest, GoogleTest, pytest and the benchmark programs left in a results folder, and prints one line.

    python tools/count_tests.py RESULTS FAILED_STAGES

A GoogleTest program counts by its cases, any other CTest entry as one, and so does a program under a sanitizer. Exit
status: 0 if something ran and nothing failed, and no stage failed for a reason that no count shows.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    skipped = case.find("skipped") is not None or case.get("result") == "skipped"
    return "skipped" if skipped or case.get("status") in ("notrun", "disabled") else "passed"


def count_file(path: pathlib.Path) -> Counter:
    return Counter(outcome(case) for case in ElementTree.parse(path).iter("testcase"))


def count_ctest(results: pathlib.Path) -> Counter:
    total: Counter = Counter()
    path = results / "ctest.xml"
    if not path.exists():
        return total
    for entry in ElementTree.parse(path).iter("testcase"):
        cases = results / "gtest" / f"{entry.get('name')}.xml"
        if not cases.exists():
            total[outcome(entry)] += 1
            continue
        counts = count_file(cases)
        if outcome(entry) == "failed" and not counts["failed"]:
            counts["failed"] += 1  # the program failed after its last case: a crash at exit, a sanitizer's report
        total += counts
    return total


def count_programs(results: pathlib.Path) -> Counter:
    path = results / "programs.txt"
    return Counter(line.split()[0] for line in path.read_text().splitlines()) if path.exists() else Counter()


def main() -> int:
    results, failed_stages = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    total = count_ctest(results) + count_programs(results)
    for path in [*results.glob("pytest.xml"), *results.glob("sanitized-*.xml")]:
        total += count_file(path)
    if failed_stages and not total["failed"]:
        total["failed"] = failed_stages  # a stage that ended before it could count anything
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}")
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
