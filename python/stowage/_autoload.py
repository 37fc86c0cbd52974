"""The entry point that torch calls at the end of `import torch` (group torch.backends).

It does nothing unless STOWAGE is set, never lets an exception out, and does not touch CUDA.
"""

import os
import sys


def autoload() -> None:
    if os.environ.get("STOWAGE", "") in ("", "0"):
        return
    try:
        from stowage import _budget, _control, _library
        _budget.offer_guards(_library.load())
        _library.load().stowage_autoload()
        _control._finish_at_exit()
    except Exception as error:
        print(f"stowage: warning: {error}; the job goes on without Stowage", file=sys.stderr)
