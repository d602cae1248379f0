"""The second gradient of recurrent ops: through the same steps, written with ops that have gradients to any order."""

from __future__ import annotations

from typing import Any

from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import identity
from situs._src.ops.nn.recurrent import lstm_in_steps


@find_op("LSTMGrad").gradient
def _lstm_grad_gradient(
    grads: list[Any], z: Tensor, recurrent: Tensor, h: Tensor, c: Tensor, dy: Tensor, dh: Tensor, dc: Tensor
) -> tuple[Any, ...]:
    """What flows to the inputs of the LSTM, and to the gradients of its results; nothing to what it kept of the way."""
    wanted = [number for number, grad in enumerate(grads) if grad is not None]
    of_gradients = [grads[number] for number in wanted]
    inputs, flows = [z, recurrent, h, c], [dy, dh, dc]
    if any(isinstance(value, SymbolicTensor) for value in [*inputs, *flows, *of_gradients]):
        inputs, flows = [identity(x) for x in inputs], [identity(x) for x in flows]
        made = gradients(list(lstm_in_steps(*inputs)), inputs, flows)
        found = gradients([made[number] for number in wanted], [*inputs, *flows], of_gradients)
    else:
        with GradientTape() as outer:
            outer.watch([*inputs, *flows])
            with GradientTape() as inner:
                inner.watch(inputs)
                results = list(lstm_in_steps(*inputs))
            made = inner.gradient(results, inputs, flows)
            targets = [made[number] for number in wanted]
        found = outer.gradient(targets, [*inputs, *flows], of_gradients)
    return (*found[:4], None, None, None, *found[4:])
