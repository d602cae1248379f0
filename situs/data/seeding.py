"""Seeds of datasets.

    global seed   seed       the order depends on
    none          none       nothing: every iteration has its own
    set           none       the global seed, and how many datasets were made since
    set or none   given      both: two datasets with the same seed have the same order

An iteration mixes in how often the dataset was iterated before, unless it is to be the same each time.
"""

from __future__ import annotations

from typing import Any

from situs.devices.scope import here
from situs.mixing import UNPREDICTABLE, mix, unpredictable
from situs.ops import seeds

_DEFAULT = 87654321  # in the place of a global seed, for programs that give seeds of their own alone


def seed_for(seed: Any) -> int | None:
    """The seed of a dataset that is made now; None if there shall be none."""
    given = None if seed is None else seeds.as_seed(seed)
    if here.graph is not None:
        found = seeds.next_seed(given)
        return None if found == UNPREDICTABLE else found
    if given is not None:
        return mix((6, _DEFAULT if seeds.eager.seed is None else seeds.eager.seed, given))
    return None if seeds.eager.seed is None else seeds.eager.next()


def order_seed(seed: int | None, epoch: int) -> int:
    """The seed of one iteration."""
    return unpredictable() if seed is None else mix((seed, epoch))
