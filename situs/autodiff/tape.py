"""``tf.GradientTape``: gradients of what ran while the tape recorded.

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)          # 2 x

In eager code the ops themselves are recorded (`situs.eager.tape`). While a graph is being built there is nothing to
record: the graph knows how everything was computed, and `situs.autodiff.graph` goes back through it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from types import TracebackType
from typing import Any

from situs.autodiff.backprop import backward_eagerly
from situs.autodiff.graph import gradients as graph_gradients
from situs.autodiff.unconnected import as_choice, filled
from situs.devices.scope import here, record_on
from situs.eager.tape import Tape, has_gradient, key_of
from situs.eager.tensor import EagerTensor
from situs.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from situs.graph.structure import flatten
from situs.graph.tensor import SymbolicTensor
from situs.ops.array import reshape
from situs.ops.constant import constant, convert_to_tensor, ones_like
from situs.ops.cumulative import add_n
from situs.ops.form import put_together, take_apart
from situs.ops.join import stack
from situs.tensor import Tensor, is_tensor, read
from situs.variables.eager import Variable


class GradientTape:
    """Records ops to compute gradients of them.

    Args:
        persistent: Whether gradients may be asked for more than once.
        watch_accessed_variables: Whether trainable variables are watched as soon as they are read.

    Example:
        >>> import situs as tf
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        >>> float(tape.gradient(y, x))
        6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._sees_variables = watch_accessed_variables
        self._tape: Tape | None = Tape(watch_accessed_variables, persistent)
        self._recording = False

    # Recording.

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise InvalidArgumentError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        if self._tape is None:
            self._tape = Tape(self._sees_variables, self._persistent)
        record_on((*here.tapes, self._tape))
        self._recording = True

    def _stop(self) -> None:
        record_on(tuple(tape for tape in here.tapes if tape is not self._tape))
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Records from now on what is made of a tensor, or of several."""
        for item in flatten(tensor):
            if not is_tensor(item):
                raise InvalidArgumentError(
                    f"Passed in object {item!r} of type {type(item).__name__!r}, not tf.Tensor or tf.Variable."
                )
            if not has_gradient(item.dtype):
                logging.getLogger("situs").warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", item.dtype
                )
            if isinstance(item, Variable):
                self._live().keys.add(item._key)
                self._live().variables[item._key] = item
            elif isinstance(item, EagerTensor):
                self._live().watch(item)

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that are watched, in the order they were met."""
        return tuple(self._live().variables.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context whose ops are not recorded."""
        if not self._recording:
            raise InvalidArgumentError("Tape is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets everything that was recorded and watched."""
        recording = self._recording
        if recording:
            self._stop()
        self._tape = Tape(self._sees_variables, self._persistent)
        if recording:
            self._start()

    def _live(self) -> Tape:
        if self._tape is None:
            raise FailedPreconditionError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
                "Make it with persistent=True to ask again."
            )
        return self._tape

    # Gradients.

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> Any:
        """The derivatives of the sum of `target` with respect to each of `sources`.

        Args:
            target: A tensor or a variable, or several.
            sources: Tensors or variables, in any structure; the result has the same.
            output_gradients: The gradients of the targets; ones by default.
            unconnected_gradients: ``"none"`` or ``"zero"``: what to give for a source that no target depends on.
        """
        choice, tape = as_choice(unconnected_gradients), self._finished()
        form, wanted = take_apart(sources)
        targets = flatten(target)
        seeds = [None] * len(targets) if output_gradients is None else flatten(output_gradients)
        if len(seeds) != len(targets):
            raise InvalidArgumentError(f"There are {len(targets)} targets and {len(seeds)} output gradients.")
        made = self._gradients(tape, targets, wanted, seeds)
        self._let_go()
        filled_in = [filled(grad, source, choice) for grad, source in zip(made, wanted, strict=True)]
        return put_together(form, filled_in)

    def _finished(self) -> Tape:
        """What was recorded; only a persistent tape goes on recording after it was asked."""
        tape = self._live()
        if self._recording and not self._persistent:
            self._stop()
        return tape

    def _let_go(self) -> None:
        if not self._persistent:
            self._tape = None

    def _gradients(self, tape: Tape, targets: Sequence[Any], sources: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        if any(isinstance(_value(item), SymbolicTensor) for item in (*targets, *sources)) or here.graph is not None:
            return _in_graph(list(targets), sources, list(seeds) if any(s is not None for s in seeds) else None)
        grads: dict[int, Any] = {}
        for target, seed in zip(targets, seeds, strict=True):
            key = _key(target, "target")
            if key is not None:
                grad = ones_like(target) if seed is None else _as_seed(seed, target)
                grads[key] = grad if key not in grads else grads[key] + grad
        keys = [_key(source, "source") for source in sources]
        known = [key for key in keys if key is not None and key in tape.keys]
        found = backward_eagerly(tape.records, grads, known)
        return [None if key is None else found.get(key) for key in keys]

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each element of `target` with respect to each of `sources`.

        The result for a source has the shape of the target followed by that of the source. The tape goes back once for
        each element of the target.
        """
        seeds = _whole_seeds(_of_known_shape(target, "target"))
        return self._rows(target, sources, unconnected_gradients, seeds, _whole_rows)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The jacobian of each row of `target` with respect to the same row of `source`."""
        end, begin = _of_known_shape(target, "target"), _of_known_shape(source, "source")
        if 0 in (end.shape.rank, begin.shape.rank) or end.shape[0] != begin.shape[0]:
            raise InvalidArgumentError(
                f"Need first dimension of target shape ({end.shape}) and source shape ({begin.shape}) to match."
            )
        return self._rows(target, source, unconnected_gradients, _batch_seeds(end), _batch_rows)

    def _rows(self, target: Any, sources: Any, unconnected: Any, seeds: list[Any], together: Any) -> Any:
        """The gradients for each of several seeds, put `together` for each source."""
        choice, tape = as_choice(unconnected), self._finished()
        form, wanted = take_apart(sources)
        rows = [self._gradients(tape, [target], wanted, [seed]) for seed in seeds]
        self._let_go()
        columns = zip(*rows, strict=True) if rows else [()] * len(wanted)
        made = [
            together([filled(g, s, choice) for g in column], _tensor(target), s)
            for column, s in zip(columns, wanted, strict=True)
        ]
        return put_together(form, made)


def _value(item: Any) -> Any:
    return item if isinstance(item, Variable) else read(item)


def _in_graph(targets: list[Any], sources: Sequence[Any], seeds: list[Any] | None) -> list[Any]:
    """Gradients while a graph is built; an eager tensor has got into it as constants, which are looked for."""
    places = [_constants(source) if isinstance(source, EagerTensor) else [source] for source in sources]
    found = iter(graph_gradients(targets, [place for several in places for place in several], seeds))
    return [_together([next(found) for _ in several]) for several in places]


def _constants(tensor: EagerTensor) -> list[Any]:
    graph = here.graph
    nodes = [] if graph is None else graph.operations
    inside = [node.outputs[0] for node in nodes if node.type == "Const" and node.attrs["value"] is tensor]
    return inside + [taken for outside, taken in getattr(graph, "captures", {}).items() if _holds(outside, tensor)]


def _holds(place: SymbolicTensor, tensor: EagerTensor) -> bool:
    """Whether a tensor of a graph is the constant for an eager one, or stands for it."""
    if place.op.type == "Const":
        return place.op.attrs["value"] is tensor
    further = getattr(place.graph, "captures", {}).items()
    return any(taken is place and _holds(outside, tensor) for outside, taken in further)


def _together(grads: list[Any]) -> Any:
    known = [convert_to_tensor(grad) if len(grads) > 1 else grad for grad in grads if grad is not None]
    return None if not known else known[0] if len(known) == 1 else add_n(known)


def _tensor(item: Any) -> Tensor:
    return convert_to_tensor(read(item))


def _of_known_shape(item: Any, what: str) -> Tensor:
    tensor = _tensor(item)
    if not tensor.shape.is_fully_defined():
        raise InvalidArgumentError(f"A jacobian takes a {what} of known shape, got {tensor!r} of shape {tensor.shape}.")
    return tensor


def _key(item: Any, what: str) -> int | None:
    """The key of a target or source; None if it has no gradient."""
    if isinstance(item, Variable):
        return item._key
    if not isinstance(item, EagerTensor):
        raise DTypeError(f"A {what} of GradientTape.gradient is a tensor or a variable, got {item!r}.")
    if not has_gradient(item.dtype):
        logging.getLogger("situs").warning(
            "The dtype of the %s tensor must be floating (e.g. tf.float32), got %r", what, item.dtype
        )
        return None
    return key_of(item)


def _as_seed(seed: Any, target: Any) -> Any:
    return seed if hasattr(seed, "indices") else convert_to_tensor(read(seed), target.dtype)


def _whole_seeds(target: Tensor) -> list[Any]:
    """One seed for each element: 1 there, 0 elsewhere."""
    count = target.shape.num_elements() or 0
    identity = [[float(i == j) for j in range(count)] for i in range(count)]
    return [reshape(constant(row, target.dtype), target.shape) for row in identity]


def _whole_rows(rows: list[Any], target: Tensor, source: Any) -> Any:
    if not rows or rows[0] is None:
        return None
    return reshape(stack([read(row) for row in rows]), [*target.shape.as_list(), *source.shape.as_list()])


def _batch_seeds(target: Tensor) -> list[Any]:
    """One seed for each element of a row: 1 there in every row."""
    sizes: list[int] = [size or 0 for size in target.shape.as_list()]
    batch, count = sizes[0], prod(sizes[1:])
    rows = [[float(i == j) for j in range(count)] for i in range(count)]
    return [reshape(constant([row] * batch, target.dtype), target.shape) for row in rows]


def _batch_rows(rows: list[Any], target: Tensor, source: Any) -> Any:
    if not rows or rows[0] is None:
        return None
    batch, *rest = target.shape.as_list()
    return reshape(stack([read(row) for row in rows], axis=1), [batch, *rest, *source.shape.as_list()[1:]])
