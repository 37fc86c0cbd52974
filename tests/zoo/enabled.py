"""Runs a script with Stowage switched on from Python.

    python tests/zoo/enabled.py before SCRIPT ARGUMENT…                    stowage.enable() before anything else
    python tests/zoo/enabled.py after SCRIPT ARGUMENT…                     stowage.enable() once the model is there
    python tests/zoo/enabled.py pluggable SCRIPT ARGUMENT…                 through PyTorch's change_current_allocator

"after" is for scripts that say when the model is there: their main() takes the arguments and a function to call then.
"""

import pathlib
import runpy
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import stowage


def main() -> None:
    when, script, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    if when == "after":
        main = runpy.run_path(script)["main"]
        main(arguments, on_event=lambda event: stowage.enable() if event == "built" else None)
        return
    if when == "pluggable":
        import torch
        torch.cuda.memory.change_current_allocator(stowage.pluggable_allocator())
    else:
        stowage.enable()
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
