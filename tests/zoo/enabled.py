"""Runs a script with stowage.enable() called from Python, before anything else or once the model is there.

    python tests/zoo/enabled.py before SCRIPT ARGUMENT…
    python tests/zoo/enabled.py after tests/zoo/run_job.py ARGUMENT…
"""

import pathlib
import runpy
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import stowage


def main() -> None:
    when, script, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    if when == "before":
        stowage.enable()
        sys.argv = [script, *arguments]
        runpy.run_path(script, run_name="__main__")
        return
    from tests.zoo import run_job
    run_job.main(arguments, on_event=lambda event: stowage.enable() if event == "built" else None)


if __name__ == "__main__":
    main()
