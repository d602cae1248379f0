"""Seeds of datasets, by TensorFlow's rules.

A dataset has two seeds, like a random op (`ops.seeds`), determined when it is created: two datasets with the same seed
have the same order. They are stored as one number, the second shifted by 64 bits.

    seeds of the dataset           words 0, 1    2, 3    4, 5   of the stream that they begin, are the
    seeds of its iterations              first   second  third  one; their streams say which element comes next

A dataset with identical iterations starts each with its own seeds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from situs._src.base.errors import DTypeError
from situs._src.base.mixing import unpredictable
from situs._src.base.streams import WORD, of_seeds
from situs._src.base.tensor import read
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops import seeds
from situs._src.ops.philox.sequence import Words
from situs._src.runtime.symbolic.fold import constant_value


class LateSeed(NamedTuple):
    """A seed that is known when the dataset is iterated.

    Attributes:
        given: The tensor of a graph that the program gave.
        globally: The global seed; -1 for none.
    """

    given: SymbolicTensor
    globally: int

    def settled(self, value: int) -> int:
        """The seeds, for a value of the tensor."""
        return _together(seeds.both_seeds(None if self.globally < 0 else self.globally, value))


def late_seed_for(seed: Any) -> int | LateSeed | None:
    """The seeds of a dataset that is made now, which may be given by a tensor of a graph.

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
    globally = seeds.eager.seed if graph.compares_elements else graph.seed
    return LateSeed(given, -1 if globally is None else globally % seeds.MOST)


def seed_for(seed: Any) -> int | None:
    """The seeds of a dataset that is made now; None if there shall be none."""
    found = seeds.known_seeds(None if seed is None else seeds.as_seed(seed))
    return None if found is None else _together(found)


def _together(both: tuple[int, int]) -> int:
    return both[0] + both[1] * WORD


def words_of(seed: int) -> Words:
    """The stream that seeds begin."""
    return Words(of_seeds(seed % WORD, seed // WORD))


def order_seed(seed: int | None, epoch: int | None) -> int:
    """The seeds of one iteration; `epoch` says how many there were before it, None that all are alike."""
    if seed is None:
        return unpredictable()
    if epoch is None:
        return seed
    words = Words(of_seeds(seed % WORD, seed // WORD), 2 * epoch)
    return _together((words.next(), words.next()))
