"""A gated recurrent unit over all steps of a sequence in one op.

    z           steps x batch x 3 units: what the inputs add to the gates, for all steps at once
    recurrent   units x 3 units, and bias, 3 units: what the state of one step adds to the gates of the next

The gates stand side by side as in Keras: update, reset, candidate. A step keeps as much of the state as the update gate
says and takes the rest from the candidate, which sees as much of the state as the reset gate lets through:

    reset_after      candidate = tanh(z + reset * (h @ recurrent + bias))       cuDNN's, and Keras' default
    otherwise        candidate = tanh(z + (reset * h) @ recurrent + bias)       that of the first paper
    h' = candidate + update * (h - candidate)

As for the LSTM (`ops.nn.recurrent`), what needs no state is computed for all steps together, on the way back as well.
An update gate of exactly 1 leaves a state as it is, bit for bit, and lets its gradient through: so masks need nothing
of their own here (`as_tensorflow.fused_recurrent`). Gradients of the gradient are those of the same steps written with
ops (`autodiff.recurrent`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import split
from situs._src.ops.linalg import matmul
from situs._src.ops.math import sigmoid, tanh
from situs._src.ops.nn.recurrent import multiplications
from situs._src.ops.quick_products import product, product_plus
from situs._src.ops.rows import Elems, Walk

_gru = op(
    "GRU",
    "z: T, recurrent: T, bias: T, h: T -> y: T, last_h: T, gates: T, inner: T",
    T=FLOATING,
    reset_after=True,
)
_gru.work(partial(multiplications, products=1))


@_gru.shape
def _gru_shape(
    z: TensorShape, recurrent: TensorShape, bias: TensorShape, h: TensorShape, *, reset_after: bool
) -> tuple[TensorShape, ...]:
    for shape, rank in ((z, 3), (recurrent, 2), (bias, 1), (h, 2)):
        if shape.rank not in (rank, None):
            raise ArgumentError(
                f"GRU takes z of rank 3, recurrent and h of rank 2 and bias of rank 1; got one of {brackets(shape)}."
            )
    steps, batch, _ = z if z.rank is not None else (None, None, None)
    batch, units = h.merge_with([batch, recurrent[0] if recurrent.rank is not None else None])
    gates = None if units is None else 3 * units
    wanted, across = TensorShape([steps, batch, gates]), TensorShape([units, gates])
    if not (z.is_compatible_with(wanted) and recurrent.is_compatible_with(across) and bias.is_compatible_with([gates])):
        raise ArgumentError(
            f"GRU of {units} units takes z of shape {brackets(wanted)}, recurrent of shape {brackets(across)} and bias "
            f"of shape {brackets(TensorShape([gates]))}; got {brackets(z)}, {brackets(recurrent)} and {brackets(bias)}."
        )
    row = TensorShape([steps, batch, units])
    return row, TensorShape([batch, units]), wanted.merge_with(z), row


@_gru.kernel(CPU, GPU)
def _gru_kernel(
    z: torch.Tensor, recurrent: torch.Tensor, bias: torch.Tensor, h: torch.Tensor, *, reset_after: bool
) -> tuple[torch.Tensor, ...]:
    units = h.shape[1]
    gates = z.clone(memory_format=torch.contiguous_format)
    y, inner = (z.new_empty((len(z), *h.shape)) for _ in range(2))  # inner: what the candidate sees of the state
    first_two, candidates = gates.split_with_sizes([2 * units, units], 2)
    updates, resets = first_two.split_with_sizes([units, units], 2)
    rows = zip(*(part.unbind(0) for part in (first_two, updates, resets, candidates, inner, y)), strict=True)
    of_two, of_candidate = recurrent.split_with_sizes([2 * units, units], 1)
    bias_of_two, bias_of_candidate = bias.split_with_sizes([2 * units, units])
    for two, update, reset, candidate, seen, output in rows:
        if reset_after:
            added = product_plus(bias, h, recurrent)
            two.add_(added.narrow(1, 0, 2 * units)).sigmoid_()
            seen.copy_(added.narrow(1, 2 * units, units))
            candidate.addcmul_(reset, seen)
        else:
            two.add_(product_plus(bias_of_two, h, of_two)).sigmoid_()
            torch.mul(reset, h, out=seen)
            candidate.add_(product_plus(bias_of_candidate, seen, of_candidate))
        torch.lerp(candidate.tanh_(), h, update, out=output)
        h = output
    return y, h, gates, inner


# The way back.

_gru_grad = op(
    "GRUGrad",
    "z: T, recurrent: T, bias: T, h: T, y: T, gates: T, inner: T, dy: T, dh: T"
    " -> dz: T, drecurrent: T, dbias: T, dfirst_h: T",
    T=FLOATING,
    reset_after=True,
)  # z is what gradients of this one flow to
_gru_grad.work(partial(multiplications, products=2))
_gru_grad.shape(lambda z, recurrent, bias, h, y, gates, inner, dy, dh, *, reset_after: (gates, recurrent, bias, h))


@_gru_grad.kernel(CPU, GPU)
def _gru_grad_kernel(
    z: torch.Tensor,
    recurrent: torch.Tensor,
    bias: torch.Tensor,
    h: torch.Tensor,
    y: torch.Tensor,
    gates: torch.Tensor,
    inner: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
    *,
    reset_after: bool,
) -> tuple[torch.Tensor, ...]:
    units = h.shape[1]
    update, reset, candidate = gates.split_with_sizes([units] * 3, 2)
    before = torch.cat([h.unsqueeze(0), y])[:-1]
    # What a step multiplies the gradient of its state with, for all steps at once.
    to_update = (before - candidate) * update * (1 - update)
    to_candidate = (1 - update) * (1 - candidate * candidate)
    back = _back_through_products if reset_after else _back_through_resets
    return back(recurrent, before, (update, reset), (to_update, to_candidate), inner, dy, dh)


def _back_through_products(
    recurrent: torch.Tensor,
    before: torch.Tensor,
    gates: tuple[torch.Tensor, torch.Tensor],
    factors: tuple[torch.Tensor, torch.Tensor],
    inner: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """The reset gate comes after the product: the gradient of a state is one product as well."""
    steps, batch, units = before.shape
    (update, reset), (to_update, to_candidate) = gates, factors
    to_reset, to_inner = to_candidate * inner * reset * (1 - reset), to_candidate * reset
    factor = torch.stack([to_update, to_reset, to_inner, to_candidate], 2)
    made = torch.empty_like(factor)  # the gradients of update, reset, the product of the candidate, the candidate
    turned = recurrent.t()
    products = made.view(steps, batch, 4 * units).narrow(2, 0, 3 * units)
    rows = zip(*(part.unbind(0) for part in (dy, update, factor, made, products)), strict=True)
    for d_output, kept, to_all, d_all, d_products in reversed(list(rows)):
        dh = dh + d_output
        torch.mul(dh.unsqueeze(1), to_all, out=d_all)
        dh = product_plus(dh * kept, d_products, turned)
    flat = products.reshape(-1, 3 * units)
    dz = made[:, :, [0, 1, 3]].view(steps, batch, 3 * units)
    return dz, product(before.reshape(-1, units).t(), flat), flat.sum(0), dh


def _back_through_resets(
    recurrent: torch.Tensor,
    before: torch.Tensor,
    gates: tuple[torch.Tensor, torch.Tensor],
    factors: tuple[torch.Tensor, torch.Tensor],
    inner: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """The reset gate comes before the product: a step goes back through that of the candidate first."""
    steps, batch, units = before.shape
    (update, reset), (to_update, to_candidate) = gates, factors
    to_reset = before * reset * (1 - reset)
    of_two, of_candidate = (part.t() for part in recurrent.split_with_sizes([2 * units, units], 1))
    dz = before.new_empty((steps, batch, 3 * units))
    two, candidates = dz.split_with_sizes([2 * units, units], 2)
    updates, resets = two.split_with_sizes([units, units], 2)
    parts = (dy, update, reset, to_update, to_candidate, to_reset, two, updates, resets, candidates)
    rows = zip(*(part.unbind(0) for part in parts), strict=True)
    for d_output, kept, let, of_update, of_new, of_reset, d_two, d_update, d_reset, d_candidate in reversed(list(rows)):
        dh = dh + d_output
        torch.mul(dh, of_update, out=d_update)
        torch.mul(dh, of_new, out=d_candidate)
        d_seen = product(d_candidate, of_candidate)
        torch.mul(d_seen, of_reset, out=d_reset)
        dh = product_plus((dh * kept).addcmul_(d_seen, let), d_two, of_two)
    of_state = product(before.reshape(-1, units).t(), two.reshape(-1, 2 * units))
    of_seen = product(inner.reshape(-1, units).t(), candidates.reshape(-1, units))
    return dz, torch.cat([of_state, of_seen], 1), dz.sum((0, 1)), dh


@_gru.gradient
def _gru_gradient(
    grads: list[Any],
    z: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    h: Tensor,
    y: Tensor,
    gates: Tensor,
    inner: Tensor,
    *,
    reset_after: bool,
) -> tuple[Any, ...]:
    given = [zeros_like(x) if grad is None else grad for grad, x in zip(grads[:2], (y, h), strict=True)]
    return tuple(_gru_grad.many(z, recurrent, bias, h, y, gates, inner, *given, reset_after=reset_after))


def gru(z: Any, recurrent: Any, bias: Any, h: Any, reset_after: bool = True) -> tuple[Tensor, Tensor]:
    """Takes a gated recurrent unit through the steps of sequences.

    Args:
        z: What the inputs add to the gates: steps x batch x 3 units.
        recurrent: What a state adds to the gates of the next step: units x 3 units.
        bias: What is added to the product of the state: 3 units.
        h: The state before the first step: batch x units.
        reset_after: Whether the reset gate comes after the product of the state.

    Returns:
        The states after all steps, steps first; the last one.
    """
    y, last_h, _, _ = _gru.many(z, recurrent, bias, h, reset_after=reset_after)
    return y, last_h


def gru_in_steps(
    z: Tensor, recurrent: Tensor, bias: Tensor, h: Tensor, reset_after: bool = True
) -> tuple[Tensor, Tensor]:
    """The same, step by step: an op for each thing that a step does."""
    weights, added = split(recurrent, 3, axis=1), split(bias, 3)

    def body(states: list[Any], row: Any) -> tuple[list[Any], list[Any]]:
        (state,) = states
        given = split(row, 3, axis=1)
        update, reset = (sigmoid(given[n] + matmul(state, weights[n]) + added[n]) for n in range(2))
        if reset_after:
            candidate = tanh(given[2] + reset * (matmul(state, weights[2]) + added[2]))
        else:
            candidate = tanh(given[2] + matmul(reset * state, weights[2]) + added[2])
        made = candidate + update * (state - candidate)
        return [made], [made]

    (h,), (y,) = Walk(Elems(z), body, [(h.dtype, h.shape)]).run([h])
    return y, h
