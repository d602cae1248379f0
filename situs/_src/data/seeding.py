"""Seeds of datasets.

    global seed   seed       the order depends on
    none          none       nothing: every iteration has its own
    set           none       the global seed, and how many datasets were made since
    set or none   given      both: two datasets with the same seed have the same order

An iteration mixes in how often the dataset was iterated before, unless it is to be the same each time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError
from situs._src.base.mixing import UNPREDICTABLE, mix, unpredictable
from situs._src.base.tensor import read
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import seeds
from situs._src.runtime.symbolic.fold import constant_value

_DEFAULT = 87654321  # in the place of a global seed, for programs that give seeds of their own alone


class LateSeed(NamedTuple):
    """A seed that is known when the dataset is iterated.

    Attributes:
        given: The tensor of a graph that the program gave.
        globally: What is mixed with its value.
    """

    given: SymbolicTensor
    globally: int

    def settled(self, value: int) -> int:
        """The seed, for a value of the tensor."""
        return mix((4, self.globally, value))


def late_seed_for(seed: Any) -> int | LateSeed | None:
    """The seed of a dataset that is made now, which may be a tensor of a graph.

    Raises:
        DTypeError: the tensor is no integer scalar.
    """
    given = read(seed)
    if not isinstance(given, SymbolicTensor):
        return seed_for(given)
    known = constant_value(given)
    if known is not None:
        return seed_for(known)
    if not given.dtype.is_integer or given.shape.rank not in (0, None):
        raise DTypeError(f"A seed is an integer or None, got {seed!r} of type {type(seed).__name__!r}.")
    graph = outermost(given.graph)
    return LateSeed(given, seeds.next_seed(0) if graph.compares_elements else mix((9, graph.seed or _DEFAULT)))


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
