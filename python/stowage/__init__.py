"""Stowage: static memory plans for PyTorch training jobs.

    import stowage; stowage.enable()          # at any time
    STOWAGE=1 python train.py                 # or without touching the job
    stowage run train.py                      # or with the launcher

Importing this package does nothing else: torch is not imported, CUDA is not touched, no library is loaded.
"""

from stowage._control import (Report, StowageError, disable, enable, pluggable_allocator, report, save_trace, settings,
                              step)
from stowage._library import version as _version

__version__ = _version()
__all__ = ["Report", "StowageError", "disable", "enable", "pluggable_allocator", "report", "save_trace", "settings",
           "step"]
