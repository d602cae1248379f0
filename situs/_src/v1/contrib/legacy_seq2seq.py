"""``tf.contrib.legacy_seq2seq``: losses and decoders on lists of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.errors import DTypeError as _DTypeError
from situs._src.base.errors import shown as _shown
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed as _listed
from situs._src.ir.graph.context import name_scope as _name_scope
from situs._src.ops.array import shape as _shape_of
from situs._src.ops.cast import cast as _cast
from situs._src.ops.cumulative import add_n as _add_n
from situs._src.ops.nn.loss import sparse_softmax_cross_entropy_with_logits as _cross_entropy
from situs._src.ops.reduce import reduce_sum as _reduce_sum
from situs._src.v1.cells.base import check_cell as _check_cell
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import builds as _builds
from situs._src.variables.scope import VariableScope
from situs._src.variables.scope import get_variable_scope as _get_variable_scope
from situs._src.variables.scope import variable_scope as _variable_scope

_TINY = 1e-12  # instead of no weight at all


@_builds
def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The cross-entropy of each example, over lists of steps.

    Args:
        logits: A list of tensors: batch x classes.
        targets: A list of as many vectors of classes.
        weights: A list of as many vectors of weights.
        average_across_timesteps: Whether to divide by the sum of the weights.
        softmax_loss_function: In the place of the cross-entropy: called with ``labels`` and ``logits``.
        name: A name for the operations.
    """
    logits, targets, weights = _listed(logits, "logits"), _listed(targets, "targets"), _listed(weights, "weights")
    if not len(logits) == len(targets) == len(weights):
        raise _ArgumentError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with _name_scope(name or "sequence_loss_by_example"):
        loss_of = softmax_loss_function or _cross_entropy
        steps = zip(logits, targets, weights, strict=True)
        total = _add_n([loss_of(labels=target, logits=logit) * weight for logit, target, weight in steps])
        return total / (_add_n(weights) + _TINY) if average_across_timesteps else total


@_builds
def sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of `sequence_loss_by_example`, divided by the number of examples on demand."""
    with _name_scope(name or "sequence_loss"):
        losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        total = _reduce_sum(losses)
        return total / _cast(_shape_of(losses)[0], total.dtype) if average_across_batch else total


@_builds
def rnn_decoder(
    decoder_inputs: list[Any],
    initial_state: object,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Takes a cell through a list of steps.

    Args:
        decoder_inputs: A list of tensors: batch x size.
        initial_state: The state to begin with.
        cell: The cell.
        loop_function: From an output and the number of its step to the next inputs, instead of those given.
        scope: The variable scope; ``"rnn_decoder"`` by default.

    Returns:
        The list of the outputs, and the last state.
    """
    _check_cell(cell)
    if loop_function is not None and not callable(loop_function):
        raise _DTypeError(f"loop_function is a function of an output and a number, got {_shown(loop_function)}.")
    state, outputs = initial_state, list[Any]()
    with _variable_scope(scope or "rnn_decoder"):
        for number, inputs in enumerate(_listed(decoder_inputs, "inputs")):
            if loop_function is not None and outputs:
                with _variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], number)
            if number:
                _get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
    return outputs, state


__all__ = ["rnn_decoder", "sequence_loss", "sequence_loss_by_example"]

__getattr__ = _without("tf.contrib.legacy_seq2seq")
