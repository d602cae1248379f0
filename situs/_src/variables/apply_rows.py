"""Sparse updates: optimizers with gradients of only some rows.

    rows = var[indices]; slots = slot[indices]     taken out
    kernel([rows, slots], grad)                    changed as whole variables are
    var[indices] = rows; slot[indices] = slots     put back

A row that occurs more than once gets the sum of its gradients. Each of its occurrences then has the same result, so the
order of writing does not matter, and the rows need not be counted: on a GPU, that would synchronize. A row that does
not exist is an error on the CPU, and ignored on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import brackets
from situs._src.variables.apply_kernels import Room, States
from situs._src.variables.many import Number, Tensors, is_number


def on_rows(kernel: Callable[..., None]) -> Callable[..., None]:
    """A kernel of whole variables, as one of rows: it is given ``indices`` besides."""

    def change(states: States, grad: Tensors, room: Room, *, indices: Tensors, **hyper: Any) -> None:
        for number, each in enumerate(zip(*states, strict=True)):
            _change_rows(kernel, each, grad[number], indices[number], hyper)

    return change


def _change_rows(
    kernel: Callable[..., None],
    states: tuple[torch.Tensor, ...],
    grad: torch.Tensor,
    indices: torch.Tensor,
    hyper: dict[str, Number],
) -> None:
    check_rows(states[0], grad, indices)
    if not indices.numel():
        return
    places, values, exists = _existing(states[0], grad, indices)
    summed = _sum_of_equals(places, values)
    old = [state.index_select(0, places) for state in states]
    rows = [row.clone() for row in old]
    kernel([[row] for row in rows], [summed], lambda: [torch.empty_like(summed)], **hyper)
    for state, row, before in zip(states, rows, old, strict=True):
        state.index_copy_(0, places, row if exists is None else torch.where(exists, row, before))


def subtract_rows(states: States, grad: Tensors, room: Room, *, indices: Tensors, alpha: Number) -> None:
    """``var[indices] -= alpha grad``; a row that is named more than once takes all of its gradients."""
    for var, value, where in zip(states[0], grad, indices, strict=True):
        check_rows(var, value, where)
        if where.numel():
            places, values, _ = _existing(var, value, where)
            if is_number(alpha):
                var.index_add_(0, places, values, alpha=-alpha)
            else:
                var.index_add_(0, places, values * -alpha)


def check_rows(var: torch.Tensor, grad: torch.Tensor, indices: torch.Tensor) -> None:
    """Raises unless there is one row of gradients for each index.

    Raises:
        InvalidArgumentError: the shapes do not fit, or, on the CPU, a row does not exist.
    """
    if indices.ndim != 1:
        raise ArgumentError(f"indices must be one-dimensional, got shape {brackets(list(indices.shape))}")
    if not var.ndim or grad.shape != (*indices.shape, *var.shape[1:]):
        raise ArgumentError(
            f"grad must have one row of the variable for each index: the variable has shape "
            f"{brackets(list(var.shape))}, indices {brackets(list(indices.shape))}, grad {brackets(list(grad.shape))}"
        )
    if indices.device.type == "cpu":
        missing = (indices < 0) | (indices >= var.shape[0])
        if bool(missing.any()):
            place = int(missing.nonzero()[0])
            raise ArgumentError(
                f"Index {int(indices[place])} at offset {place} in indices is out of range [0, {var.shape[0]})"
            )


Existing = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]


def _existing(var: torch.Tensor, grad: torch.Tensor, indices: torch.Tensor) -> Existing:
    """Rows that exist, with their gradients: one that does not is taken for the first that does, with a gradient of 0.

    The last result says whether there is any that does; None if all do.
    """
    places = indices.to(torch.int64)
    if places.device.type == "cpu":
        return places, grad, None
    exists = (places >= 0) & (places < var.shape[0])
    first = places.index_select(0, exists.to(torch.int32).argmax().unsqueeze(0))
    places = torch.where(exists, places, first).clamp(0, var.shape[0] - 1)
    return places, torch.where(exists.reshape(-1, *[1] * (grad.ndim - 1)), grad, 0), exists.any()


def _sum_of_equals(places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """For each place the sum of the values of all places equal to it."""
    if len(places) < 2:
        return values
    ordered, order = torch.sort(places)
    begins = torch.ones_like(ordered)
    begins[0] = 0
    torch.ne(ordered[1:], ordered[:-1], out=begins[1:])
    number = torch.empty_like(places).scatter_(0, order, begins.cumsum(0))
    sums = torch.zeros_like(values).index_add_(0, number, values)
    return sums.index_select(0, number)
