"""Tables for a terminal: the first column to the left, the others to the right, a rule below the head."""

MIB = 1 << 20
NONE = "–"


def mib(value: float | None) -> str:
    return NONE if value is None else f"{value / MIB:,.1f} MiB"


def fragmentation(peak: float, reserved: float) -> str:
    """The share of `reserved` that not even the peak uses."""
    return f"{100 * max(0.0, 1 - peak / reserved):.1f} %" if reserved else NONE


def lines(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    cells = [head, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    text = [row[0].ljust(widths[0]) + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))
            for row in cells]
    return [text[0].rstrip(), "─" * (sum(widths) + 2 * len(widths) - 2), *(line.rstrip() for line in text[1:])]
