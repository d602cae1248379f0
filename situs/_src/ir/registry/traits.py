"""Traits: what passes may assume about every kernel of an op.

A pass that overwrites memory, folds constants or runs calls in parallel has to know more about an op than its kernels:
whether a result is fresh memory, whether a call may wait for another run. Such facts are part of the op, as traits in
its declaration:

    _softmax = op("Softmax", "logits: T -> softmax: T", T=FLOATING, traits={FRESH})

and `unary` and `binary` of ``ops.define`` give them to whole families. A missing trait costs speed or memory, never a
result; a wrong one costs results. So ``tests/properties/test_traits.py`` calls the kernels and checks that they keep
the promises, and a kernel that a program adds to an existing op keeps the op's traits only if it says so
(``keeps_traits=True``).

What a trait cannot express is a rule of the op, declared next to its kernels: `Op.in_place`, `Op.fresh_when`,
`Op.work`, `Op.static_value`.
"""

from __future__ import annotations


class Trait:
    """A promise about an op; `meaning` says which."""

    __slots__ = ("meaning", "name")

    def __init__(self, name: str, meaning: str) -> None:
        self.name = name
        self.meaning = meaning

    def __repr__(self) -> str:
        return self.name


Traits = frozenset[Trait]

# Memory.
FRESH = Trait("FRESH", "Each result is new memory, whatever the inputs are, and the kernel keeps nothing of these.")
FRESH_FIRST = Trait("FRESH_FIRST", "The first result is new memory; others may be inputs.")
VIEW = Trait("VIEW", "The results lie in the memory of the first tensor, or are a copy of it where that cannot be.")
ALIAS = Trait("ALIAS", "The result is the first input as it is; on its device there is nothing to do.")

# Values.
ELEMENTWISE = Trait("ELEMENTWISE", "An element of the result depends on the elements at its place in the inputs alone.")
EACH_VALUE = Trait(
    "EACH_VALUE", "Takes each element by itself, with attributes: a ragged tensor is taken by its values."
)
ZERO_OF_ZERO = Trait("ZERO_OF_ZERO", "Gives 0 for 0, element by element: a sparse tensor changes in its values alone.")
MOVES = Trait("MOVES", "The results are elements of the inputs of their type, as they are; host values say which.")
COMMUTATIVE = Trait("COMMUTATIVE", "Of numbers, the result is the same, to rounding, in whichever order they come.")
ADDS = Trait("ADDS", "Of numbers, the result is their sum.")
SHAPE_ONLY = Trait("SHAPE_ONLY", "The result depends on the shapes of the inputs alone, not on their elements.")
FOLDABLE = Trait("FOLDABLE", "Quick and pure: run while the graph is built where the inputs are known and small.")
SIZE_ARITHMETIC = Trait("SIZE_ARITHMETIC", "Makes few numbers of few: of sizes, on the host, wherever it is placed.")
DRAWS = Trait("DRAWS", "Draws random numbers, from the stream that its attributes `seed` and `seed2` begin.")
CHECK = Trait("CHECK", "Has state only so that it runs where nobody uses the result, which is the same each time.")

# Time.
PRODUCT = Trait("PRODUCT", "Multiplies and adds up, which takes long: matrix products and convolutions.")
MATRIX_LIBRARY = Trait("MATRIX_LIBRARY", "Calls the matrix library, which takes work space on a GPU.")
NO_WORK = Trait("NO_WORK", "Computes nothing: it is there for what waits for it.")
BLOCKS = Trait("BLOCKS", "May wait for another run.")
COLLECTIVE = Trait("COLLECTIVE", "Is run by all workers together, each of which waits for the others.")
CALLS_PYTHON = Trait("CALLS_PYTHON", "Calls a function of the program, which may do anything and take any time.")

# Graphs.
STATE_ANYWHERE = Trait("STATE_ANYWHERE", "Takes variables from wherever they are, for the graphs that it runs.")
FED = Trait("FED", "Is there to be fed: a value for it says nothing of the rest of the graph.")
STATE = Trait("STATE", "Is a variable: it says which, and does nothing with what it holds.")

ALL_TRAITS = tuple(value for value in list(globals().values()) if isinstance(value, Trait))
