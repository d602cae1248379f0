"""The text summary of a plan: predicted times and sizes, the time on one device alone, and the source of the costs."""

from __future__ import annotations

from operator import itemgetter

from situs._src.placement.search.plan import Plan

SHOWN = 4  # starting points


def seconds_text(seconds: float) -> str:
    """A time, in the unit that fits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def bytes_text(size: float) -> str:
    """A size, in the unit that fits it."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size:.0f} bytes"


def summary(plan: Plan) -> str:
    """What a plan expects of a step, and what it rests on, in a few lines."""
    forecast = plan.forecast
    lines = [f"predicted step time  {seconds_text(forecast.value)}"]
    for name, busy in sorted(forecast.busy.items()):
        peak = forecast.peak.get(name, 0.0)
        if busy or peak:
            lines.append(f"  {name} busy {seconds_text(busy)}, at most {bytes_text(peak)} held")
    for (source, target), size in sorted(forecast.traffic.items()):
        if size:
            lines.append(f"  {source} -> {target} {bytes_text(size)}")
    alone = plan.single
    lines.append(
        "one device alone     none can have all of it"
        if alone is None
        else f"one device alone     {seconds_text(alone[1])} on {alone[0]}"
    )
    if plan.bound:
        lines.append(f"no placement below   {seconds_text(plan.bound)}")
    tried = sorted(
        ((value, name) for name, value in (plan.tried or {}).items() if value is not None), key=itemgetter(0)
    )
    if plan.tried:
        best = "; ".join(f"{name}: {seconds_text(value)}" for value, name in tried[:SHOWN])
        others = f" (the best of {len(plan.tried)}, of which {len(tried)} fit)" if len(plan.tried) > SHOWN else ""
        lines.append(f"started from         {best}{others}")
    lines += [f"rests on             {line}" for line in plan.rests_on]
    lines += [f"note                 {line}" for line in plan.notes]
    return "\n".join(lines)
