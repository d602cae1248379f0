"""The second derivative of recurrent ops: through the same steps, written with ops that are differentiable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import identity
from situs._src.ops.nn.gated_recurrent import gru_in_steps
from situs._src.ops.nn.recurrent import lstm_in_steps

Steps = Callable[..., Sequence[Tensor]]


@find_op("LSTMGrad").gradient
def _lstm_grad_gradient(
    grads: list[Any], z: Tensor, recurrent: Tensor, h: Tensor, c: Tensor, dy: Tensor, dh: Tensor, dc: Tensor
) -> tuple[Any, ...]:
    """The gradients of the LSTM's inputs, and of its results' gradients; none for its residuals."""
    found = _through_steps(lstm_in_steps, [z, recurrent, h, c], [dy, dh, dc], grads)
    return (*found[:4], None, None, None, *found[4:])


@find_op("GRUGrad").gradient
def _gru_grad_gradient(
    grads: list[Any],
    z: Tensor,
    recurrent: Tensor,
    bias: Tensor,
    h: Tensor,
    dy: Tensor,
    dh: Tensor,
    *,
    reset_after: bool,
) -> tuple[Any, ...]:
    """The same for the GRU."""
    steps = partial(gru_in_steps, reset_after=reset_after)
    found = _through_steps(steps, [z, recurrent, bias, h], [dy, dh], grads)
    return (*found[:4], None, None, None, *found[4:])


def _through_steps(steps: Steps, inputs: list[Any], flows: list[Any], grads: list[Any]) -> list[Any]:
    """The gradients of an op's inputs, and of its results' gradients, from those of its gradient."""
    wanted = [number for number, grad in enumerate(grads) if grad is not None]
    of_gradients = [grads[number] for number in wanted]
    if any(isinstance(value, SymbolicTensor) for value in [*inputs, *flows, *of_gradients]):
        inputs, flows = [identity(x) for x in inputs], [identity(x) for x in flows]
        made = gradients(list(steps(*inputs)), inputs, flows)
        return list(gradients([made[number] for number in wanted], [*inputs, *flows], of_gradients))
    with GradientTape() as outer:
        outer.watch([*inputs, *flows])
        with GradientTape() as inner:
            inner.watch(inputs)
            results = list(steps(*inputs))
        made = inner.gradient(results, inputs, flows)
        targets = [made[number] for number in wanted]
    return list(outer.gradient(targets, [*inputs, *flows], of_gradients))
