"""The entry point that torch calls at the end of `import torch` (group torch.backends).

It does nothing unless STOWAGE or the preload shim asks for it, never lets an exception out, and does not touch CUDA.
"""

import os
import sys


def _preloaded() -> bool:
    return "libstowage_preload.so" in os.environ.get("LD_PRELOAD", "")


def _asked() -> bool:
    """To be preloaded is to be asked, unless STOWAGE=0 says no. The command `stowage` is no job."""
    if "stowage.cli" in sys.modules:
        return False
    chosen = os.environ.get("STOWAGE", "")
    return chosen != "0" and (chosen != "" or _preloaded())


def autoload() -> None:
    try:
        if "_STOWAGE_TRAIL" in os.environ:
            from stowage import _trail
            _trail.begin_if_asked()
        if not _asked():
            return
        from stowage import _budget, _control, _library, _profiler
        library = _library.load()
        _budget.offer_guards(library)
        _profiler.make_room(library)
        library.stowage_autoload_preloaded() if _preloaded() else library.stowage_autoload()
        _control._finish_at_exit()
    except Exception as error:
        print(f"stowage: warning: {error}; the job goes on without Stowage", file=sys.stderr)
