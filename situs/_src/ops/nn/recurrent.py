"""A long short-term memory over all steps of a sequence in one op.

    z           steps x batch x 4 units: what the inputs add to the gates, for all steps at once
    recurrent   units x 4 units: what the output of one step adds to those of the next

The gates are in the order input, forget, candidate, output. In a loop, each of the twenty operations of a step would be
called from Python; here a step is eight PyTorch calls, six in the backward pass, and what does not depend on the state
is computed for all steps together. Second derivatives are those of the same steps written with ops
(`autodiff.recurrent`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.node import Operation
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import split
from situs._src.ops.linalg import matmul
from situs._src.ops.math import sigmoid, tanh
from situs._src.ops.quick_products import add_product, product
from situs._src.ops.rows import Elems, Walk

_lstm = op("LSTM", "z: T, recurrent: T, h: T, c: T -> y: T, last_h: T, last_c: T, cells: T, gates: T", T=FLOATING)


def multiplications(node: Operation, products: int) -> int | None:
    """Of the state with the recurrent weights, in all steps."""
    steps, across = node.inputs[0].shape, node.inputs[1].shape
    known = steps[:2].num_elements() if steps.rank else None
    weights = across.num_elements()
    return None if known is None or weights is None else products * known * weights


_lstm.work(partial(multiplications, products=1))


@_lstm.shape
def _lstm_shape(z: TensorShape, recurrent: TensorShape, h: TensorShape, c: TensorShape) -> tuple[TensorShape, ...]:
    state = h.merge_with(c)
    for shape, rank in ((z, 3), (recurrent, 2), (state, 2)):
        if shape.rank not in (rank, None):
            raise ArgumentError(f"LSTM takes z of rank 3, recurrent, h and c of rank 2; got one of {brackets(shape)}.")
    steps, batch, _ = z if z.rank is not None else (None, None, None)
    state = state.merge_with([batch, recurrent[0] if recurrent.rank is not None else None])
    batch, units = state
    gates = None if units is None else 4 * units
    wanted, across = TensorShape([steps, batch, gates]), TensorShape([units, gates])
    if not z.is_compatible_with(wanted) or not recurrent.is_compatible_with(across):
        raise ArgumentError(
            f"LSTM of {units} units takes z of shape {brackets(wanted)} and recurrent of shape {brackets(across)}; "
            f"got {brackets(z)} and {brackets(recurrent)}."
        )
    row = TensorShape([steps, batch, units])
    return row, state, state, row, wanted.merge_with(z)


@_lstm.kernel(CPU, GPU)
def _lstm_kernel(z: torch.Tensor, recurrent: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[Any, ...]:
    units = h.shape[1]
    gates = z.clone(memory_format=torch.contiguous_format)
    y, cells = z.new_empty((len(z), *h.shape)), z.new_empty((len(z), *h.shape))
    first_two = gates.narrow(2, 0, 2 * units)
    parts = [part.unbind(0) for part in (gates, first_two, *gates.split_with_sizes([units] * 4, 2), y, cells)]
    for gate, entering_and_kept, entering, kept, candidate, leaving, output, carried in zip(*parts, strict=True):
        add_product(gate, h, recurrent)
        entering_and_kept.sigmoid_()
        candidate.tanh_()
        leaving.sigmoid_()
        torch.mul(kept, c, out=carried)
        carried.addcmul_(entering, candidate)
        torch.tanh(carried, out=output)
        output.mul_(leaving)
        h, c = output, carried
    return y, h, c, cells, gates


# The way back.

_lstm_grad = op(
    "LSTMGrad",
    "z: T, recurrent: T, h: T, c: T, y: T, cells: T, gates: T, dy: T, dh: T, dc: T"
    " -> dz: T, drecurrent: T, dfirst_h: T, dfirst_c: T",
    T=FLOATING,
)  # z is what gradients of this one flow to
_lstm_grad.work(partial(multiplications, products=2))
_lstm_grad.shape(lambda z, recurrent, h, c, y, cells, gates, dy, dh, dc: (gates, recurrent, h, c))


@_lstm_grad.kernel(CPU, GPU)
def _lstm_grad_kernel(
    z: torch.Tensor,
    recurrent: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    y: torch.Tensor,
    cells: torch.Tensor,
    gates: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
    dc: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    steps, batch, units = y.shape
    entering, kept, candidate, leaving = gates.split_with_sizes([units] * 4, 2)
    bent = torch.tanh(cells)
    before = torch.cat([c.unsqueeze(0), cells])[:-1]
    # What a step multiplies the gradients of its output and of its carried state with, for all steps at once.
    to_leaving, to_carried = bent * leaving * (1 - leaving), leaving * (1 - bent * bent)
    to_others = torch.stack(
        [
            candidate * entering * (1 - entering),
            before * kept * (1 - kept),
            entering * (1 - candidate * candidate),
        ],
        2,
    )
    dz = torch.empty_like(gates)
    apart = dz.view(steps, batch, 4, units)
    parts = (dy, to_leaving, to_carried, to_others, kept, dz, apart.narrow(2, 0, 3), apart.select(2, 3))
    rows = list(zip(*(part.unbind(0) for part in parts), strict=True))
    turned = recurrent.t()
    for d_output, of_leaving, of_carried, of_others, forget, d_gates, d_others, d_leaving in reversed(rows):
        dh = dh + d_output
        torch.mul(dh, of_leaving, out=d_leaving)
        dc = torch.addcmul(dc, dh, of_carried)
        torch.mul(dc.unsqueeze(1), of_others, out=d_others)
        dc = dc * forget
        dh = product(d_gates, turned)
    outputs_before = torch.cat([h.unsqueeze(0), y])[:-1]
    made = product(outputs_before.view(-1, units).t(), dz.view(-1, 4 * units))
    return dz, made, dh, dc


@_lstm.gradient
def _lstm_gradient(
    grads: list[Any], z: Tensor, recurrent: Tensor, h: Tensor, c: Tensor, y: Tensor, cells: Tensor, gates: Tensor
) -> tuple[Any, ...]:
    given = [zeros_like(x) if grad is None else grad for grad, x in zip(grads[:3], (y, h, c), strict=True)]
    return tuple(_lstm_grad.many(z, recurrent, h, c, y, cells, gates, *given))


def lstm(z: Any, recurrent: Any, h: Any, c: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Takes a long short-term memory through the steps of sequences.

    Args:
        z: What the inputs add to the gates: steps x batch x 4 units.
        recurrent: What an output adds to the gates of the next step: units x 4 units.
        h: The output before the first step: batch x units.
        c: The carried state before the first step: batch x units.

    Returns:
        The outputs of all steps, steps first; the last one; the last carried state.
    """
    y, last_h, last_c, _, _ = _lstm.many(z, recurrent, h, c)
    return y, last_h, last_c


def lstm_in_steps(z: Tensor, recurrent: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same, step by step: an op for each thing that a step does."""

    def body(states: list[Any], row: Any) -> tuple[list[Any], list[Any]]:
        output, carried = lstm_step(row + matmul(states[0], recurrent), states[1])
        return [output, carried], [output]

    (h, c), (y,) = Walk(Elems(z), body, [(h.dtype, h.shape)]).run([h, c])
    return y, h, c


def lstm_step(
    z: Tensor, c: Tensor, gate: Any = sigmoid, activation: Callable[..., Any] = tanh
) -> tuple[Tensor, Tensor]:
    """One step: the output, and the carried state after it.

    Args:
        z: The gates before their functions: batch x 4 units.
        c: The carried state.
        gate: The function of gates.
        activation: The function of candidates and outputs.
    """
    entering, kept, candidate, leaving = split(z, 4, axis=-1)
    carried = gate(kept) * c + gate(entering) * activation(candidate)
    return gate(leaving) * activation(carried), carried
