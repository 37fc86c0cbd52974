"""Tables for a terminal: the first column to the left, the others to the right, a rule below the head."""

MIB = 1 << 20
NONE = "–"
COMPUTED = ("recompute_ms", "encode_ms")  # of a schedule
ADDED = (*COMPUTED, "wait_ms")


def mib(value: float | None) -> str:
    return NONE if value is None else f"{value / MIB:,.1f} MiB"


def fragmentation(peak: float, reserved: float) -> str:
    """The share of `reserved` that not even the peak uses."""
    return f"{100 * max(0.0, 1 - peak / reserved):.1f} %" if reserved else NONE


def share_of_ops(schedule: dict, *added: str) -> float:
    """What a report's schedule (docs/report.md) adds to an iteration, by these keys, in percent of the time of its ops."""
    return 100 * sum(schedule.get(key, 0) for key in added) / schedule["ops_ms"]


def lines(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    cells = [head, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    text = [row[0].ljust(widths[0]) + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))
            for row in cells]
    return [text[0].rstrip(), "─" * (sum(widths) + 2 * len(widths) - 2), *(line.rstrip() for line in text[1:])]
