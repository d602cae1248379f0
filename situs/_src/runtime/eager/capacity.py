"""Results that no memory can hold, rejected before they are allocated.

Linux overcommits memory and kills the process that uses it. A program that calls ``tf.zeros([10**13])`` should get an
error instead. Only host inputs (shapes, sizes, repeats) make large results from small inputs, except those that are not
sizes (`Op.takes_no_size`: seeds, bounds); so the shape rule is evaluated only if the product of the others is large.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from situs._src.base.budget import policy
from situs._src.base.devices.inventory import process
from situs._src.base.errors import ResourceExhaustedError
from situs._src.base.shapes import brackets
from situs._src.ir.registry.op import Attrs, Op
from situs._src.ir.registry.signature import HOST
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.binding import BoundInputs
from situs._src.runtime.eager.oom import size_text
from situs._src.runtime.eager.rules import results, size_of

INTEGERS = frozenset({int})
LARGE = 2**26  # elements: half a gigabyte of float64


def may_be_large(host: Iterable[Any]) -> bool:
    """Whether host values of this size could lead to a result of `LARGE` elements."""
    return abs(_product(host)) > LARGE


def _product(host: Iterable[Any]) -> int:
    total = 1
    for value in host:
        if type(value) is int:
            total *= value or 1
        elif type(value) is tuple and INTEGERS.issuperset(map(type, value)):
            total *= prod(value) or 1  # a shape with a 0 in it is empty
        elif type(value) is tuple:
            total *= prod(_product(item) for item in value if type(item) is tuple)
    return total


def check_fits(op: Op, bound: BoundInputs, attrs: Attrs, assignment: Assignment) -> None:
    """Raises if the results of an op are larger than the memory of its GPU, or of the host.

    Raises:
        ResourceExhaustedError: they are.
    """
    device = assignment.device
    if not may_be_large([item for kind, item in zip(op.kinds, bound.inputs, strict=True) if kind is HOST]):
        return
    made = results(op, bound, attrs)
    wanted = sum(size_of(shape, dtype) for shape, dtype in made)
    on_gpu = device.account is not None
    there = device.account.limit if on_gpu else process.processor.memory_bytes
    if wanted > there:
        raise ResourceExhaustedError(
            f"OOM when allocating tensor with shape{brackets(made[0][0])} and type {made[0][1].proto_name} on "
            f"{device.name} by {op.name}: it takes {size_text(wanted)}, and the {'GPU' if on_gpu else 'host'} has "
            f"{size_text(there)}{f' ({policy.of(device)})' if on_gpu else ''}."
        )
