"""Unpredictable integers, independent of any seed."""

from __future__ import annotations

import os


def unpredictable() -> int:
    """An integer of 63 bits that no seed leads to."""
    return int.from_bytes(os.urandom(8), "little") >> 1
