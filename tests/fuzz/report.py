"""What is printed of the targets that were tried."""

from __future__ import annotations

from typing import Any


def lines(name: str, seed: int, seconds: float, counts: dict[str, Any]) -> list[str]:
    """One line about a target, and a few about each finding."""
    findings = counts["findings"]
    plain = sum(times for error, times in counts["errors"].items() if error.startswith("plain"))
    head = (
        f"{name}: {counts['executions']} executions in {seconds / 60:.1f} minutes, {counts['succeeded']} succeeded, "
        f"{sum(counts['errors'].values())} refused ({plain} by Python's own errors) in {len(counts['errors'])} ways, "
        f"{len(findings)} findings"
    )
    return [head, *(line for kind, found in findings.items() for line in _finding(name, seed, kind, found))]


def _finding(name: str, seed: int, kind: str, found: dict[str, Any]) -> list[str]:
    last = found["details"].strip().splitlines()[-1:] or [""]
    return [
        f"  FINDING {kind}, {found['times']} times",
        f"    {ascii(last[0])[:300]}",
        f"    {ascii(found['case'])[:400]}",
        f"    again: python -m tests.fuzz {name} --seed {seed} --only {found['number']}",
    ]
