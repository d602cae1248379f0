"""``tf.GradientTape``: gradients of what ran while the tape recorded.

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)          # 2 x

In eager code the ops themselves are recorded (`runtime.eager.tape`). While a graph is being built this is not
necessary, because the graph knows how everything was computed: the tape only keeps when it recorded, and what it
watches (`autodiff.graph_tape`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any

from situs._src.autodiff.backprop import backward_eagerly
from situs._src.autodiff.graph import Origins, differentiate
from situs._src.autodiff.graph_tape import GraphRecording, state_or_tensor
from situs._src.autodiff.jacobian import BATCH, WHOLE, Rows
from situs._src.autodiff.unconnected import UnconnectedGradients, as_choice, filled
from situs._src.base.devices.scope import here, record_on
from situs._src.base.errors import ArgumentError, DTypeError, StateError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import flatten, put_together, take_apart
from situs._src.base.typing import IntLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.constant import range as range_op
from situs._src.ops.functional import map_fn
from situs._src.runtime.eager.tape import Tape, has_gradient, key_of
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.variables.capture import captured_variable
from situs._src.variables.eager import Variable, variable_behind


@export("GradientTape")
class GradientTape:
    """Records ops to compute their gradients.

    Args:
        persistent: Whether gradients may be computed more than once.
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
        self._in_graphs = GraphRecording(watch_accessed_variables)
        self._seen_variables: tuple[Any, ...] = ()  # the watched variables when gradients were computed
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
            raise ArgumentError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        if self._tape is None:
            self._tape = Tape(self._sees_variables, self._persistent)
        record_on((*here.tapes, self._tape))
        self._in_graphs.start()
        self._recording = True

    def _stop(self) -> None:
        record_on(tuple(tape for tape in here.tapes if tape is not self._tape))
        self._in_graphs.stop()
        self._recording = False

    def watch(self, tensor: object) -> None:
        """Records from now on what depends on a tensor, or on several."""
        for item in map(variable_behind, flatten(tensor)):
            if not is_tensor(item):
                raise ArgumentError(
                    f"Passed in object {item!r} of type {type(item).__name__!r}, not tf.Tensor or tf.Variable."
                )
            if not has_gradient(item.dtype):
                logging.getLogger("situs").warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", item.dtype
                )
            if here.graph is not None or not isinstance(item, (Variable, EagerTensor)):
                self._in_graphs.watch(item)
            if isinstance(item, Variable):
                self._live().keys.add(item._key)
                self._live().variables[item._key] = item
            elif isinstance(item, EagerTensor):
                self._live().watch(item)

    def watched_variables(self) -> tuple[Any, ...]:
        """The watched variables, in order of first use; still available after a gradient was computed."""
        eager = self._seen_variables if self._tape is None else tuple(self._tape.variables.values())
        return tuple({id(variable): variable for variable in (*eager, *self._in_graphs.variables())}.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context whose ops are not recorded."""
        if not self._recording:
            raise ArgumentError("Tape is not recording.")
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
        self._tape, self._in_graphs = Tape(self._sees_variables, self._persistent), GraphRecording(self._sees_variables)
        if recording:
            self._start()

    def _live(self) -> Tape:
        if self._tape is None:
            raise StateError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians). "
                "Make it with persistent=True to ask again."
            )
        return self._tape

    # Gradients.

    def gradient(
        self, target: object, sources: object, output_gradients: Any = None, unconnected_gradients: object = "none"
    ) -> Any:
        """The derivatives of the sum of `target` with respect to each of `sources`.

        Args:
            target: A tensor or a variable, or several.
            sources: Tensors or variables, in any structure; the result has the same.
            output_gradients: The gradients of the targets; ones by default.
            unconnected_gradients: ``"none"`` or ``"zero"``: what to give for a source that no target depends on.
        """
        choice, tape = as_choice(unconnected_gradients), self._finished()
        form, wanted = _sources(sources)
        targets = [variable_behind(item) for item in flatten(target)]
        seeds = [None] * len(targets) if output_gradients is None else flatten(output_gradients)
        if len(seeds) != len(targets):
            raise ArgumentError(f"There are {len(targets)} targets and {len(seeds)} output gradients.")
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
        if not self._persistent and self._tape is not None:
            self._seen_variables = tuple(self._tape.variables.values())
            self._tape = None

    def _gradients(self, tape: Tape, targets: Sequence[Any], sources: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        if any(isinstance(_value(item), SymbolicTensor) for item in (*targets, *sources)) or here.graph is not None:
            return self._in_graph(targets, sources, seeds)
        grads: dict[int, Any] = {}
        for target, seed in zip(targets, seeds, strict=True):
            key = _key(target, "target")
            if isinstance(target, Variable) and target.trainable and tape.sees_variables:
                tape.keys.add(target._key)  # asking for its gradient reads it
                tape.variables[target._key] = target
            if key is not None:
                grad = ones_like(target) if seed is None else _as_seed(seed, target)
                grads[key] = grad if key not in grads else grads[key] + grad
        keys = [_key(source, "source") for source in sources]
        known = [key for key in keys if key is not None and key in tape.keys]
        found = backward_eagerly(tape.records, grads, known)
        return [None if key is None else found.get(key) for key in keys]

    def _in_graph(self, targets: Sequence[Any], sources: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """Gradients while a graph is built."""
        self._in_graphs.note_graph()
        graph = here.graph or next(t.graph for t in map(_value, (*targets, *sources)) if isinstance(t, SymbolicTensor))
        with graph.as_default() if here.graph is None else nullcontext(), graph.name_scope("gradients"):
            origins = Origins(reads=True)
            ends, begins = _states(targets, "target"), _states(sources, "source")
            pairs = [
                (end, ones_like(end) if seed is None else _as_seed(seed, end))
                for end, seed in zip(ends, seeds, strict=True)
                if isinstance(end, SymbolicTensor) and has_gradient(end.dtype)
            ]
            ends = [end for end, _ in pairs]
            nodes, known = self._in_graphs.recorded(ends, origins)
            wanted = [begin for begin in begins if origins.key(begin) in known]
            made = differentiate(ends, [seed for _, seed in pairs], wanted, origins=origins, nodes=nodes)
            found = {origins.key(begin): grad for begin, grad in zip(wanted, made, strict=True)}
            return [found.get(origins.key(begin)) for begin in begins]

    def jacobian(
        self,
        target: object,
        sources: object,
        unconnected_gradients: object = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each element of `target` with respect to each of `sources`.

        The result for a source has the shape of the target followed by that of the source. The tape goes back once for
        each element of the target.
        """
        self._check_repeatable(experimental_use_pfor)
        end = _tensor(target)
        if not end.shape.is_fully_defined():
            return self._looped_rows(target, sources, unconnected_gradients, WHOLE)
        return self._rows(target, sources, unconnected_gradients, WHOLE)

    def batch_jacobian(
        self,
        target: object,
        source: object,
        unconnected_gradients: object = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The jacobian of each row of `target` with respect to the same row of `source`."""
        self._check_repeatable(experimental_use_pfor)
        end, begin = _tensor(target), _tensor(source)
        for shape in (end.shape, begin.shape):
            if shape.rank is not None and shape.rank < 2:
                raise ArgumentError(f"Shape {shape} must have rank at least 2")
        if not end.shape[:1].is_compatible_with(begin.shape[:1]):
            raise ArgumentError(
                f"Need first dimension of target shape ({end.shape}) and source shape ({begin.shape}) to match."
            )
        choice = UnconnectedGradients.ZERO  # as in TensorFlow, whichever is asked for
        if not (end.shape.is_fully_defined() and begin.shape.is_fully_defined()):
            return self._looped_rows(target, source, choice, BATCH)
        return self._rows(target, source, choice, BATCH)

    def _check_repeatable(self, vectorizes: bool) -> None:
        """Raises unless the tape may go back once for each element.

        Raises:
            FailedPreconditionError: TensorFlow would go back several times in eager code, by a tape that goes once.
        """
        if not (vectorizes or self._persistent or here.graph is not None):
            raise StateError(
                "GradientTape must be created with persistent=True to compute the jacobian with eager execution "
                "enabled and with experimental_use_pfor set to False."
            )

    def _looped_rows(self, target: object, sources: object, unconnected: object, kind: Rows) -> Any:
        """The same in a graph for shapes that are not known yet: a loop over the elements of the target."""
        choice, tape = as_choice(unconnected), self._finished()
        form, wanted = _sources(sources)
        end = _tensor(target)
        connected: list[bool] = []

        def row(number: object) -> list[Any]:
            made = self._gradients(tape, [target], wanted, [kind.seed(end, number)])
            connected[:] = [grad is not None for grad in made]
            return [filled(g, s, UnconnectedGradients.ZERO) for g, s in zip(made, map(read, wanted), strict=True)]

        rows = map_fn(row, range_op(kind.count(end)), fn_output_signature=[source.dtype for source in wanted])
        self._let_go()
        made = [
            kind.shaped(read(row), end, read(source)) if is_connected or choice is UnconnectedGradients.ZERO else None
            for row, source, is_connected in zip(rows, wanted, connected, strict=True)
        ]
        return put_together(form, made)

    def _rows(self, target: object, sources: object, unconnected: object, kind: Rows) -> Any:
        """The gradients for each of several seeds, put together for each source."""
        choice, tape = as_choice(unconnected), self._finished()
        form, wanted = _sources(sources)
        end = _tensor(target)
        differentiable = has_gradient(end.dtype)
        rows = [self._gradients(tape, [target], wanted, [seed]) for seed in (kind.seeds(end) if differentiable else ())]
        self._let_go()
        columns = zip(*rows, strict=True) if rows else [()] * len(wanted)
        made = [
            kind.together([filled(grad, source, choice) for grad in column], end, source)
            if differentiable or choice is UnconnectedGradients.ZERO
            else None
            for column, source in zip(columns, wanted, strict=True)
        ]
        return put_together(form, made)


def _sources(sources: object) -> tuple[Any, list[Any]]:
    """The form of the sources, and the sources themselves; what only stands for a variable counts as that."""
    form, items = take_apart(sources)
    return form, [variable_behind(item) for item in items]


def _value(item: object) -> Variable | Tensor:
    return item if isinstance(item, Variable) else read(item)


def _states(items: Sequence[Any], what: str) -> list[Any]:
    """The tensors that gradients flow from or to: of variables, what stands for their states."""
    found = []
    for item in items:
        if not is_tensor(item):
            raise DTypeError(f"A {what} of GradientTape.gradient is a tensor or a variable, got {item!r}.")
        found.append(captured_variable(here.graph, item) if isinstance(item, Variable) else state_or_tensor(item))
    return found


def _tensor(item: object) -> Tensor:
    return convert_to_tensor(read(item))


def _key(item: object, what: str) -> int | None:
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


def _as_seed(seed: IntLike, target: Any) -> Any:
    return seed if hasattr(seed, "indices") else convert_to_tensor(read(seed), target.dtype)
