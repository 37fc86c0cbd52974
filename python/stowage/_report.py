"""Saved reports: one as the library's table, those of several processes side by side."""

import glob
import json
import pathlib
import re
from typing import Any

from stowage._library import StowageError

_COLUMNS = ("process", "device", "state", "iterations", "planned after", "clean", "peak live", "reserved before", "now",
            "arena", "misses", "evictions")


def _natural(path: str) -> list:
    """rank10 comes behind rank9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]


def find(names: list[str]) -> list[str]:
    """The files meant: patterns that the shell left alone, and the ranks' files where only they are there."""
    found = []
    for name in names:
        path = pathlib.Path(name)
        if path.exists():
            found.append(name)
            continue
        pattern = name if glob.has_magic(name) else str(path.with_name(f"{path.stem}.*{path.suffix}"))
        matches = sorted(glob.glob(pattern), key=_natural)
        if not matches:
            raise StowageError(f"there is no file {name}")
        found += matches
    return list(dict.fromkeys(found))


def read(path: str) -> dict[str, Any]:
    """The object in a file; that it is a report is for the library to say."""
    if path.endswith((".stowtrace", ".stowplan")):
        raise StowageError(f"{path} is a trace or a plan, not a report; `stowage replay` reads traces")
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StowageError(f"{path} is not a report of Stowage: {error}") from None
    if not isinstance(content, dict):
        raise StowageError(f"{path} is not a report of Stowage: it is not a JSON object")
    return content


def _amount(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{value:,.2f} {unit}"


def _row(process: str, device: dict[str, Any]) -> list[str]:
    planned = "start" if device.get("planned_from_start") else device.get("switched_at_iteration", 0)
    clean = f"{device.get('clean_iterations', 0)}/{device.get('planned_iterations', 0)}" if planned else "-"
    return [process, f"{device['device']}:{device.get('device_index', 0)}", device["state"],
            str(device.get("iterations", 0)), str(planned or "-"), clean, _amount(device.get("peak_live_bytes", 0)),
            _amount(device.get("reserved_before_bytes", 0)),
            _amount(device.get("reserved_after_bytes", 0)) if planned else "-", _amount(device.get("arena_bytes", 0)),
            str(sum(device.get("misses", {}).values())), str(device.get("budget", {}).get("evictions", "-"))]


def side_by_side(reports: dict[str, dict[str, Any]]) -> str:
    """A line for each process and device. `reports`: sound ones by file. Requires: at least one."""
    rows = [list(_COLUMNS)]
    for path, report in reports.items():
        process = report.get("process", {}).get("name") or pathlib.Path(path).stem
        rows += [_row(process, device) for device in report["devices"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join(text) + "\n"
