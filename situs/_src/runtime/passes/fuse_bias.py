"""Fusing matrix products with their bias, in captured work.

    %2 = MatMul(%0, %1)
    %4 = BiasAdd(%2, %3)        become  %4 = addmm(%3, %0, %1)

cuBLAS adds the bias while it writes the product, which saves one pass over memory. Only captured work is
transformed (`runtime.run.cuda_graph`): there, calls cannot fail and are neither traced nor part of a forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import ALIAS
from situs._src.runtime.plan.plan import Call, Slot, slots_in

_ADDS = frozenset({"AddV2", "BiasAdd"})


def with_biases(calls: list[Call], kept: Iterable[int]) -> list[Call]:
    """The calls, with products and bias additions fused.

    Args:
        calls: The calls, in order.
        kept: The slots that are used after them.
    """
    uses: dict[int, int] = dict.fromkeys(kept, 2)
    for call in calls:
        for slot in slots_in(call.inputs):
            uses[slot] = uses.get(slot, 0) + 1
    made: list[Call] = []
    for call in calls:
        place = _product_before(made, call, uses)
        if place is None:
            made.append(call)
        else:
            made.append(_joined(made.pop(place), call))
    return made


def _product_before(made: list[Call], call: Call, uses: dict[int, int]) -> int | None:
    """The position of the product that a call adds a bias to, if it has no other use; None if there is none."""
    if call.node is None or call.node.type not in _ADDS or len(call.inputs) != 2:
        return None
    product = call.inputs[0]
    if not isinstance(product, Slot) or uses.get(product.number) != 1 or not _is_bias(call.node):
        return None
    for place in range(len(made) - 1, -1, -1):
        other = made[place]
        if product.number in other.outputs:
            return place if _is_product(other.node) and other.device is call.device else None
        if other.reads is None and (other.node is None or ALIAS not in other.node.op_def.traits):
            return None  # it might overwrite the inputs of the product
    return None


def _is_bias(node: Operation) -> bool:
    """Whether an operation adds one number to each column."""
    value, bias = (tensor.shape for tensor in node.inputs)
    if value.rank is None or value.rank < 2 or bias.rank != 1 or node.attrs.get("data_format", "NHWC") == "NCHW":
        return False
    return bias[0] is not None and bias[0] == value[-1]


def _is_product(node: Operation | None) -> bool:
    """Whether an operation multiplies rows, in any number of dimensions, by a matrix."""
    if node is None or node.type != "MatMul" or not node.outputs[0].dtype.is_floating:
        return False
    attrs = node.attrs
    return node.inputs[1].shape.rank == 2 and not (attrs.get("transpose_a") or attrs.get("adjoint_a"))


def _joined(product: Call, addition: Call) -> Call:
    assert product.node is not None
    turned = bool(product.node.attrs.get("transpose_b") or product.node.attrs.get("adjoint_b"))
    return replace(addition, function=_biased(turned), inputs=[*product.inputs, addition.inputs[1]], overwrites=None)


def _biased(turned: bool) -> Callable[..., Any]:
    def product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        matrix = b.t() if turned else b
        rows = a if a.ndim == 2 else a.reshape(-1, a.shape[-1])
        made = torch.addmm(bias, rows, matrix)
        return made if a.ndim == 2 else made.view(*a.shape[:-1], matrix.shape[1])

    return product
