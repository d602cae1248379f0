"""``tf.autodiff.ForwardAccumulator``: forward-mode differentiation, Jacobian-vector products.

    with tf.autodiff.ForwardAccumulator(primals=x, tangents=v) as along:
        y = f(x)
    along.jvp(y)                  # J v: the derivative of y in the direction v

There is one rule for each op, that of its gradient, ``u -> J^T u``. It is linear in ``u``, so its own gradient in ``u``
is ``J v``, whatever ``u`` is (double backward):

    record            f(x)                           by a tape that watches x
    there             g = J^T u                      from that tape, for a u of zeros that a second tape watches
    and back          gradient of <g, v> in u        = J v

A product costs about as much as two gradients, and works wherever second derivatives do: in functions, under tapes and
inside other accumulators, which record all of this like everything else. A product that is computed after the outer
accumulators have ended still counts as computed within them: they record it too, so that products of products can be
computed anywhere.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from situs._src.autodiff.tape import GradientTape
from situs._src.autodiff.unconnected import UnconnectedGradients, as_choice, filled
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import is_tensor, read
from situs._src.base.tree import flatten, put_together, take_apart
from situs._src.ops.array import identity
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.runtime.eager.tape import has_gradient
from situs._src.variables.eager import variable_behind


class _Active(threading.local):
    """The accumulators that are active in a thread, the outermost first."""

    def __init__(self) -> None:
        self.accumulators: tuple[ForwardAccumulator, ...] = ()


_active = _Active()


@export("autodiff.ForwardAccumulator")
class ForwardAccumulator:
    """Computes Jacobian-vector products: directional derivatives.

    Args:
        primals: A tensor or a variable, or a structure of them: the inputs.
        tangents: The direction: a tensor for each primal, of its shape and dtype.

    Raises:
        ValueError: there are not as many tangents as primals, or one has another shape.

    Example:
        >>> import situs as tf
        >>> x = tf.constant([2.0, 3.0])
        >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as along:
        ...     y = tf.reduce_sum(x * x)
        >>> float(along.jvp(y))
        4.0
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        sources = [variable_behind(item) for item in flatten(primals)]
        directions = flatten(tangents)
        if len(sources) != len(directions):
            raise ArgumentError(
                f"ForwardAccumulator takes a tangent for each primal, got {len(directions)} for {len(sources)}."
            )
        self._sources, self._directions = sources, [_direction(*pair) for pair in zip(sources, directions, strict=True)]
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self._was_entered = False
        self._around: tuple[ForwardAccumulator, ...] = ()

    def __enter__(self) -> ForwardAccumulator:
        self._tape.__enter__()
        self._around = _active.accumulators
        _active.accumulators = (*self._around, self)
        self._tape.watch(self._sources)
        self._was_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tape.__exit__(kind, error, trace)
        _active.accumulators = tuple(each for each in _active.accumulators if each is not self)

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The directional derivatives of results.

        Args:
            primals: A tensor, or a structure of tensors, computed while the accumulator was active.
            unconnected_gradients: What to return for a result that does not depend on the primals: None or zeros.

        Returns:
            For each result a tensor of its shape, in the same structure.

        Raises:
            ValueError: the accumulator has not been active.
        """
        choice = as_choice(unconnected_gradients)
        if not self._was_entered:
            raise ArgumentError("Called jvp() without first tracing anything: use the accumulator in a `with`.")
        form, results = take_apart(primals)
        for result in results:
            if result is not None and not is_tensor(variable_behind(result)):
                raise DTypeError(f"jvp() takes tensors that were computed, got {shown(result)}.")
        with ExitStack() as recording:
            if self._tape._recording:
                recording.enter_context(self._tape.stop_recording())
            for outer in self._around:
                if not outer._tape._recording:
                    recording.enter_context(outer._tape)
            found = self._along(results)
        return put_together(form, [filled(*pair, choice) for pair in zip(found, map(read, results), strict=True)])

    def _along(self, results: list[Any]) -> list[Any]:
        """The derivative of each result; None if it has none."""
        smooth = [item for item in results if item is not None and has_gradient(variable_behind(item).dtype)]
        targets = [item for item in smooth if self._direction_of(item) is None]
        with GradientTape(watch_accessed_variables=False) as linear:
            weights = [zeros_like(read(target)) for target in targets]
            linear.watch(weights)
            there = self._tape.gradient(targets, self._sources, output_gradients=weights) if targets else []
            pairs = [
                (convert_to_tensor(grad), direction)
                for grad, direction in zip(there, self._directions, strict=False)
                if grad is not None
            ]
        back: list[Any] = [None] * len(targets)
        if pairs:
            grads, directions = map(list, zip(*pairs, strict=True))
            back = linear.gradient(grads, weights, output_gradients=directions)
        known = {id(target): made for target, made in zip(targets, back, strict=True)}
        return [self._direction_of(item) if id(item) not in known else known[id(item)] for item in results]

    def _direction_of(self, result: object) -> Any:
        """The tangent of a result that is itself one of the primals."""
        behind = variable_behind(result)
        return next((d for source, d in zip(self._sources, self._directions, strict=True) if source is behind), None)


def _direction(primal: Any, tangent: Any) -> Any:
    """A tangent as a tensor.

    Raises:
        ValueError: it has another shape than its primal.
    """
    if not is_tensor(primal):
        raise ArgumentError(f"ForwardAccumulator takes tensors or variables as primals, got {shown(primal)}.")
    found = identity(convert_to_tensor(tangent, primal.dtype))
    if not found.shape.is_compatible_with(primal.shape):
        raise ArgumentError(
            f"Expected a tangent of the shape of its primal, {primal.shape}; got one of the shape {found.shape}."
        )
    return found
