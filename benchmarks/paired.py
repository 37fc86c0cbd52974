"""Paired repeats reduced to a ratio: ours and a baseline's take turns, so that what else the machine does slows both."""

import statistics


def ratio(ours: list[float], baseline: list[float]) -> dict[str, float]:
    """Median, quartiles and count of ours/baseline over the pairs. Requires: as many of one as of the other."""
    ratios = sorted(a / b for a, b in zip(ours, baseline, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return {"median": middle, "low": low, "high": high, "pairs": len(ratios)}


def text(found: dict[str, float]) -> str:
    return f"{found['median']:.3f} ({found['low']:.3f}–{found['high']:.3f}, {found['pairs']} pairs)"
