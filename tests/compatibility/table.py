"""Runs every fact in every mode on the simulated device and makes docs/compatibility.md of it.

    python tests/compatibility/table.py            # prints the page
    python tests/compatibility/table.py --write    # and writes it
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plugin" / "cuda")]
import harness  # noqa: E402
import simulated_job  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "compatibility.md"
LIMIT_S = 900
# Every kernel takes a second: a stream is busy until it is waited for, however often CUDA is called meanwhile.
DEVICE = {"STOWAGE_SIM_MEMORY": "8GiB", "STOWAGE_SIM_LAUNCH_NS": str(10**9)}


def lines_of(mode: str, first: int) -> tuple[list[dict], str]:
    """What one process says of the facts from `first` on, and its last words."""
    done = subprocess.run([sys.executable, str(HERE / "harness.py"), mode, str(first)],
                          env=simulated_job.environment(**DEVICE), text=True, timeout=LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"number"')]
    return lines, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"


def run_mode(mode: str) -> dict[str, dict]:
    """The result of each fact. A process that dies counts for the fact it was at; the rest runs in another one."""
    results, first = {}, 0
    while True:
        lines, last_words = lines_of(mode, first)
        results |= {line["name"]: line for line in lines if "result" in line}
        open_fact = lines[-1] if lines and "begins" in lines[-1] else None
        if open_fact is None:
            if not lines:
                raise SystemExit(f"no fact ran in mode {mode}: {last_words}")
            return results
        results[open_fact["name"]] = {"result": "fail", "why": last_words}
        first = open_fact["number"] + 1


def run_all() -> dict[str, dict[str, dict]]:
    return {mode: run_mode(mode) for mode in harness.MODES}


def broken(facts: list[harness.Fact], results: dict) -> dict[str, str]:
    """What holds natively and not with Stowage, segment sizes aside, and why."""
    found = {}
    for fact in facts:
        if fact.sizes or results["native"][fact.name]["result"] != "pass":
            continue
        for mode in harness.MODES[1:]:
            if (got := results[mode][fact.name])["result"] != "pass":
                found[f"{fact.name} ({mode})"] = got["why"]
    return found


def words(got: dict) -> str:
    return "holds" if got["result"] == "pass" else "**fails**"


def page(facts: list[harness.Fact], results: dict) -> str:
    rows = ["| PyTorch's test | what it expects | native | recording | planned | requests planned |",
            "|---|---|---|---|---|---|"]
    for fact in facts:
        shown = fact.name.replace("_", " ") + (" (sizes)" if fact.sizes else "")
        got = [results[mode][fact.name] for mode in harness.MODES]
        cells = [f"`{fact.of}`", shown, *map(words, got), str(got[2].get("hits", ""))]
        rows.append(f"| {' | '.join(cells)} |")
    held = {mode: sum(one["result"] == "pass" for one in results[mode].values()) for mode in harness.MODES}
    notes = [f"- {name.replace('_', ' ')}: {why}" for name, why in unlike(facts, results).items()]
    return f"""# What PyTorch's own allocator tests expect

Made by a test run: `python tests/compatibility/table.py --write`, with torch {version()} on the simulated device.

Each row is what a test of PyTorch's suite (its files test_cuda and test_cuda_multigpu) checks, written anew in
`tests/compatibility/`. It is tried on PyTorch's native allocator, while Stowage records, and planned: then it is
repeated as an iteration of a job until its requests have a plan, and must hold in every one of them; the last column
says how many requests the arena served. Rows marked *sizes* look at sizes of segments, at what is reserved, or at how
settings round sizes up (the arena rounds to 512 bytes only), which are Stowage's own affair; all others must hold with
Stowage where they hold natively (`tests/compatibility/compatibility_test.py`).

Facts that hold: {held['native']} of {len(facts)} natively, {held['recording']} while recording, {held['planned']} planned.

{chr(10).join(rows)}

## Where the columns differ

{chr(10).join(notes) or 'Nowhere.'}
"""


def unlike(facts: list[harness.Fact], results: dict) -> dict[str, str]:
    found = {}
    for fact in facts:
        for mode in harness.MODES:
            got = results[mode][fact.name]
            if got["result"] != "pass":
                found[f"{fact.name} ({mode})"] = got["why"].replace("\n", " ")[:200]
    return found


def version() -> str:
    import importlib.metadata
    return importlib.metadata.version("torch").split("+")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="What PyTorch's allocator tests expect, and where it holds.")
    parser.add_argument("--write", action="store_true", help="into docs/compatibility.md too")
    options = parser.parse_args()
    shown = page(harness.load(), run_all())
    print(shown)
    if options.write:
        PAGE.write_text(shown)


if __name__ == "__main__":
    main()
