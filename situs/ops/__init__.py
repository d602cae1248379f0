"""The ops, one family a file: definition, shape rule, kernels and public functions side by side.

Importing the package declares all of them and gives tensors their operators.
"""

from situs.ops import (  # noqa: F401
    array,
    cast,
    clip,
    compare,
    constant,
    contract,
    control,
    count,
    cumulative,
    debug,
    decompose,
    diagonal,
    gather,
    generator,
    indexing,
    join,
    linalg,
    math,
    nn,
    norms,
    operators,
    placeholder,
    printing,
    random,
    rearrange,
    reduce,
    regex,
    scatter,
    search,
    stateless,
    strings,
)
