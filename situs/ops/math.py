"""Arithmetic, element by element: the four rules, powers, exponentials, trigonometry, rounding.

Results have the dtype of the inputs. Two inputs broadcast as in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs.dtype import (
    COMPLEX,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    SIGNED,
    STRING,
    UNSIGNED,
    WIDE_UNSIGNED,
)
from situs.errors import InvalidArgumentError
from situs.ops.define import CPU, binary, unary
from situs.registry.op import find_op
from situs.tensor import Tensor

# The four rules.

add = binary("AddV2", torch.add, NUMERIC | STRING, "Returns x + y element-wise.", gpu=NUMERIC - WIDE_UNSIGNED, wide=np.add)
subtract = binary("Sub", torch.sub, NUMERIC, "Returns x - y element-wise.", gpu=NUMERIC - WIDE_UNSIGNED, wide=np.subtract)
multiply = binary("Mul", torch.mul, NUMERIC, "Returns x * y element-wise.", gpu=NUMERIC - WIDE_UNSIGNED, wide=np.multiply)
sin = unary("Sin", torch.sin, FLOATING | COMPLEX, "Computes the sine of x, element-wise.")
