"""The functions of the package, over the library's C interface (library/control.h)."""

import atexit
import json
from typing import Any

from stowage import _budget, _library, _process, _profiler
from stowage._library import StowageError


class Report(dict):
    """The report as a dict (keys in docs/report.md); str() gives the table that people read."""

    def __str__(self) -> str:
        text = _library.load().stowage_report_text(json.dumps(self).encode())
        if text is None:
            raise StowageError(_library.load().stowage_last_error().decode())
        return text.decode()


def _checked(status: int) -> None:
    if status != 0:
        raise StowageError(_library.load().stowage_last_error().decode())


def _lines(settings: dict[str, Any]) -> bytes:
    lines = []
    for key, value in settings.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if "\n" in text or "\0" in text:
            raise StowageError(f"the value of {key} has a line break in it")
        lines.append(f"{key}={text}")
    return "\n".join(lines).encode()


def enable(**settings: Any) -> None:
    """Takes over PyTorch's allocator from now on. Settings as `stowage settings` lists them: enable(budget="60%").

    Under a budget CPU tensors that are there already count, too. Calling it again changes nothing.
    Raises StowageError for a bad setting or a torch of another version."""
    _budget.offer_guards(_library.load())
    _profiler.make_room(_library.load())
    _checked(_library.load().stowage_enable(_lines(settings)))
    if any("budget" in device for device in report().get("devices", ())):
        _budget.count_present_tensors(_library.load(), "cpu")
    _finish_at_exit()


def disable() -> None:
    """Gives PyTorch its own allocator back. Tensors that are alive stay valid."""
    _checked(_library.load().stowage_disable())


def step() -> None:
    """An iteration ends here. Needed only where no torch optimizer steps; from the first call on nothing else counts."""
    _checked(_library.load().stowage_step())


def report() -> Report:
    """What has happened so far."""
    text = _library.load().stowage_report()
    if text is None:
        raise StowageError(_library.load().stowage_last_error().decode())
    return Report(json.loads(text))


def save_trace(path: str, device: str | None = None) -> None:
    """Writes what was recorded on `device` ("cpu", "cuda:1"; the only one if left out) for `stowage replay`."""
    _checked(_library.load().stowage_save_trace(str(path).encode(), device.encode() if device else None))


def settings(**overrides: Any) -> list[dict[str, str]]:
    """All settings with their values, defaults, bounds and help."""
    text = _library.load().stowage_settings(_lines(overrides))
    if text is None:
        raise StowageError(_library.load().stowage_last_error().decode())
    return json.loads(text)


def pluggable_allocator() -> Any:
    """For torch.cuda.memory.change_current_allocator(), before CUDA is used. All of its hooks are set."""
    import ctypes

    import torch
    library = _library.load()
    if not hasattr(library, "stowage_torch_alloc"):
        raise StowageError("this build of Stowage has no CUDA part; build it against a CUDA build of torch")
    allocator = torch.cuda.memory.CUDAPluggableAllocator(str(_library.library_path()), "stowage_torch_alloc",
                                                         "stowage_free")
    hooks = {"set_init_fn": "init", "set_reset_fn": "reset", "set_memory_fraction_fn": "memory_fraction",
             "set_base_alloc_fn": "base_alloc", "set_record_stream_fn": "record_stream",
             "set_begin_allocate_to_pool": "begin_allocate_to_pool",
             "set_end_allocate_to_pool_fn": "end_allocate_to_pool", "set_release_pool": "release_pool"}
    for setter, name in hooks.items():
        address = ctypes.cast(getattr(library, f"stowage_{name}"), ctypes.c_void_p).value
        getattr(allocator.allocator(), setter)(address)
    _checked(library.stowage_finish_later())
    _finish_at_exit()
    return allocator


_registered = False


def _finish() -> None:
    library = _library.load()
    process = _process.name()
    if process != "":
        library.stowage_finish_as(process and process.encode())
    library.stowage_finish()


def _finish_at_exit() -> None:
    """The report is written while Python still runs; the library would do it later by itself."""
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_finish)
