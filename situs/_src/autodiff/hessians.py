"""``tf.hessians``: second derivatives in a graph."""

from __future__ import annotations

from typing import Any

from situs._src.autodiff.graph import gradients
from situs._src.autodiff.jacobian import WHOLE
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.base.tree import flatten
from situs._src.ops.constant import range as range_op
from situs._src.ops.functional import map_fn


@export("hessians", v1=())
def hessians_v2(
    ys: object,
    xs: object,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    name: str = "hessians",
) -> list[Any]:
    """Adds operations that compute the second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
        ys: A tensor, or several.
        xs: Tensors or variables.
        gate_gradients: As ``tf.compat.v1.hessians`` takes it.
        aggregation_method: How gradients of one tensor are summed.
        name: A name scope for what is added.

    Returns:
        For each x, a tensor whose shape is that of x twice.
    """
    return hessians(ys, xs, name, False, gate_gradients, aggregation_method)


@export(v1="hessians")
def hessians(
    ys: object,
    xs: object,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
) -> list[Any]:
    """Adds operations that compute the second derivatives of the sum of `ys` with respect to each of `xs`.

    Returns:
        For each x, a tensor whose shape is that of x twice.
    """
    found: list[Any] = []
    for x, grad in zip(flatten(xs), gradients(ys, xs, None, name, colocate_gradients_with_ops), strict=True):
        found.append(None if grad is None else _rows(read(grad), x, colocate_gradients_with_ops))
    return found


def _rows(grad: Any, x: Any, colocated: bool) -> Any:
    def row(seed: Any) -> Any:
        return read(gradients(grad, [x], seed, "rows", colocated, unconnected_gradients="zero")[0])

    if x.shape.is_fully_defined():
        return WHOLE.together([row(seed) for seed in WHOLE.seeds(grad)], grad, x)
    numbers = range_op(WHOLE.count(grad))
    rows = map_fn(lambda number: row(WHOLE.seed(grad, number)), numbers, fn_output_signature=x.dtype)
    return WHOLE.shaped(rows, grad, x)
