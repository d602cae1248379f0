"""Rules of work (`Op.work`) that families of ops share: about how many multiplications, from shapes alone.

    n_log_n      sorts and Fourier transforms: each element takes part once for every halving of their number
    n_windows    pools: each result looks at one window

What is worked on element by element needs no rule: its time is that of its bytes (`placement.costs.work`).
"""

from __future__ import annotations

import math

from situs._src.ir.graph.node import Operation


def n_log_n(node: Operation) -> int | None:
    """For each element of the first input one step for every halving of their number.

    A multiplication counts as two steps, an exchange or an addition as one: so it is half of that.
    """
    count = node.inputs[0].shape.num_elements()
    return None if count is None else count * count.bit_length() // 2


def n_windows(node: Operation) -> int | None:
    """For each result one step for every element of its window."""
    results = node.outputs[0].shape.num_elements()
    return None if results is None else results * math.prod(node.attrs["ksize"]) // 2
