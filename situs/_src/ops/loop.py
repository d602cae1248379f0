"""Loops: ``while_loop``.

In eager code it is Python's ``while``. In a graph it is one operation with the graphs of the condition and of the body.
The loop variables are carried between iterations; captures are passed in once:

    While(i, x | n)     cond    i < n              arguments i, x     captured n
                        body    i + 1, x * 2       arguments i, x
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import LEAF, Form, common_form, put_together, same_extra, specs_in, take_apart
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.calling import calls_functions
from situs._src.ir.registry.traits import STATE_ANYWHERE
from situs._src.ops.attribute import as_name
from situs._src.ops.cast import cast
from situs._src.ops.compare import less, logical_and
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.inner import Inner, building, captured_by, common, graph_for, hold, symbolic
from situs._src.ops.math import add
from situs._src.ops.slices import IndexedSlices

_while = op(
    "While", "input: any*, captured: any* -> output: any*", traits={STATE_ANYWHERE}, cond=None, body=None, stateful=True
)
_while.shape(lambda *inputs, **graphs: UNKNOWN)
_while.kernel(CPU, GPU)(lambda *inputs, **graphs: None)  # situs._src.runtime.plan.control_flow makes the function


@export(
    "while_loop",
    v1=(),
    differs="A shape invariant that the initial value does not satisfy is an error, "
    "in functions too. A single tensor x as loop variables is taken as [x].",
)
@calls_functions
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Runs ``body(*loop_vars)`` as long as ``cond(*loop_vars)`` is true.

    Args:
        cond: A function of the loop variables that returns a boolean scalar.
        body: A function of the loop variables that returns their next values, in the same form.
        loop_vars: A list or tuple of the first values: tensors, or lists, tuples and dictionaries of them.
        shape_invariants: Shapes that hold in every iteration, where they are less known than at the start.
        parallel_iterations: Accepted for TensorFlow's programs; iterations follow each other here.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        maximum_iterations: The most iterations to make.
        name: A name for the operation.

    Returns:
        The loop variables after the last iteration, in the form of `loop_vars`.

    Example:
        >>> import situs as tf
        >>> i, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (tf.constant(0), tf.constant(5)))
        >>> int(x)
        40
    """
    check_loop(cond, body, loop_vars, parallel_iterations)
    if holders := Holders(loop_vars):
        return holders.run(cond, body, shape_invariants, maximum_iterations, name)
    return _run(Loop(cond, body, loop_vars, shape_invariants, maximum_iterations), name)


def settling_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
    shapes: object = None,
    name: str | None = None,
) -> Any:
    """`while_loop`, where the shapes of the variables may be less known after an iteration than before it.

    AutoGraph has words of its own for loops that change shapes, and nobody declares the shapes of gradients.
    """
    return _run(Loop(cond, body, loop_vars, shapes, settles=True), name)


def _run(loop: Loop, name: str | None) -> Any:
    graph = graph_for(loop.start)
    return loop.run_now() if graph is None else loop.run_in(graph, name)


class Holders:
    """The objects among loop variables that hold the tensor to carry, such as a ``TensorArray``.

    Args:
        loop_vars: The loop variables.
    """

    def __init__(self, loop_vars: Any) -> None:
        listed = loop_vars if isinstance(loop_vars, (list, tuple)) else [loop_vars]
        self._form, self._leaves = take_apart(listed)
        self._holders = {n: leaf for n, leaf in enumerate(self._leaves) if _has_flow(leaf)}

    def __bool__(self) -> bool:
        return bool(self._holders)

    def run(self, cond: Any, body: Any, invariants: Any, maximum: object, name: str | None) -> Any:
        """Runs the loop with what they hold in their places."""
        start = put_together(self._form, [_bare(leaf) for leaf in self._leaves])

        def iteration(*state: Any) -> Any:
            form, leaves = take_apart(as_sequence(body(*self._filled(state))))
            return put_together(form, [_bare(leaf) for leaf in leaves])

        last = while_loop(
            lambda *state: cond(*self._filled(state)),
            iteration,
            start,
            invariants,
            maximum_iterations=maximum,
            name=name,
        )
        return self._filled(last)

    def _filled(self, state: object) -> Any:
        _, leaves = take_apart(state)
        filled = [self._holders[n]._with(leaf) if n in self._holders else leaf for n, leaf in enumerate(leaves)]
        return put_together(self._form, filled)


def _is_held(leaf: object) -> bool:
    """Whether a loop of eager code keeps something as it is."""
    return is_tensor(leaf) or hasattr(type(leaf), "_with")


def _has_flow(leaf: object) -> bool:
    return getattr(leaf, "flow", None) is not None and hasattr(type(leaf), "_with")


def _bare(leaf: Any) -> Any:
    return leaf.flow if _has_flow(leaf) else leaf


def check_loop(cond: object, body: Any, loop_vars: object, parallel_iterations: Any) -> None:
    """Raises unless these are the parts of a loop.

    Raises:
        TypeError: something is of the wrong kind.
        ValueError: there are no loop variables.
    """
    for name, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise DTypeError(f"'{name}' must be callable: a function of the loop variables, got {function!r}.")
    if isinstance(parallel_iterations, SymbolicTensor) and parallel_iterations.dtype.is_integer:
        parallel_iterations = 1  # nothing depends on it, so it need not be known
    elif (
        is_tensor(parallel_iterations) and parallel_iterations.dtype.is_integer and parallel_iterations.shape.rank == 0
    ):
        parallel_iterations = int(read(parallel_iterations))
    if isinstance(parallel_iterations, bool) or not isinstance(parallel_iterations, (int, np.integer)):
        raise DTypeError(f"'parallel_iterations' must be a positive integer, got {parallel_iterations!r}.")
    if parallel_iterations < 1:
        raise DTypeError(f"'parallel_iterations' must be a positive integer, got {parallel_iterations!r}.")
    if loop_vars is None or (isinstance(loop_vars, (list, tuple, dict)) and not loop_vars):
        raise ArgumentError("'loop_vars' must be provided: No loop variables provided.")


class Parts(NamedTuple):
    """The graphs of a loop, and the shapes that hold in every iteration."""

    test: Inner
    step: Inner
    shapes: list[TensorShape]


class Loop:
    """A loop: its functions, the form of its variables and their first values.

    Args:
        cond: As in `while_loop`, and so are `body` and `loop_vars`.
        invariants: The shapes that hold in every iteration; those of the first values by default.
        maximum: The most iterations to make.
        settles: Whether less may be known of a shape after an iteration than before it.
    """

    def __init__(
        self,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        invariants: Any = None,
        maximum: Any = None,
        settles: bool = False,
    ) -> None:
        if not isinstance(loop_vars, (list, tuple)):
            loop_vars = [loop_vars]
        self.cond = cond
        self.body = body
        self.form, self.start = take_apart(loop_vars)
        self.invariants = None if invariants is None else self._flat_shapes(invariants)
        self.maximum = None if maximum is None else _as_count(maximum)
        self.settles = settles
        self.body_form: Any = self.form  # after an iteration: that of what the body returned
        self.next_form: Any = self.form  # and with the specs of composites that hold before and after it

    def _flat_shapes(self, invariants: Any) -> list[TensorShape]:
        """The shapes given for the loop variables, one for each.

        Raises:
            ValueError: there are more or fewer.
        """
        wanted = invariants if isinstance(invariants, (list, tuple)) else [invariants]
        shapes = _matched(self.form, wanted)
        if shapes is None:
            raise ArgumentError(
                f"shape_invariants must have the form of loop_vars, {self.form}, with a TensorShape for each; got "
                f"{invariants!r}."
            )
        return shapes

    # In eager code.

    def run_now(self) -> Any:
        """Runs the loop."""
        most = None if self.maximum is None else int(self.maximum)
        leaves, iterations = self.start, 0
        for leaf in leaves:
            if not _is_held(leaf):
                convert_to_tensor(leaf)  # refuses what no loop can have, before a function of the program meets it
        while most is None or iterations < most:
            state = put_together(self.form, leaves)
            if not self.cond(*state):
                break
            leaves = self._leaves(self.body(*state))
            self.form = self.next_form
            iterations += 1
        return put_together(self.form, [leaf if _is_held(leaf) else convert_to_tensor(leaf) for leaf in leaves])

    def _leaves(self, returned: object) -> list[Any]:
        """What the body returned, one value for each loop variable.

        Raises:
            ValueError: it has another form than the loop variables.
        """
        self.body_form, leaves = take_apart(as_sequence(returned))
        if not _is_like(self.form, self.body_form):
            raise ArgumentError(
                "The two structures don't have the same nested structure: the body of a while_loop() must return as "
                f"many values as there are loop variables, in the same form. The loop variables are {self.form}, it "
                f"returned {self.body_form}."
            )
        self.next_form = common_form(self.form, self.body_form)
        return leaves

    def as_body(self, loop_vars: object) -> Any:
        """The loop variables in the form in which the body returns them."""
        return put_together(self.body_form, take_apart(loop_vars)[1])

    # In a graph.

    def run_in(self, graph: Graph, name: str | None) -> Any:
        """Adds the operation of the loop to a graph, and returns the loop variables after the last turn."""
        made = self.build(graph, name)
        return put_together(self.form, made)  # of which more is known when the loop has been built

    def build(self, graph: Graph, name: str | None) -> list[SymbolicTensor]:
        """Adds the operation of the loop to a graph and returns its results, one for each loop variable."""
        with building(graph):
            start = [symbolic(graph, value) for value in self.start]
            if self.maximum is None:
                return self._hold(graph, name, start, self.cond, self._body)
            first = [symbolic(graph, constant(0)), *start]
            return self._hold(graph, name, first, *self._counted(), counted=True)[1:]

    def _body(self, *state: Any) -> list[Any]:
        return self._leaves(self.body(*state))

    def _counted(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The two functions of the loop, with one more variable that counts the iterations."""
        most = self.maximum

        def test(iteration: object, *state: Any) -> Tensor:
            return logical_and(less(iteration, most), self.cond(*state))

        def step(iteration: object, *state: Any) -> list[Any]:
            return [add(iteration, 1), *self._body(*state)]

        return test, step

    def _hold(
        self,
        graph: Graph,
        name: str | None,
        start: list[SymbolicTensor],
        cond: Callable[..., Any],
        iteration: Callable[..., list[Any]],
        counted: bool = False,
    ) -> list[SymbolicTensor]:
        shapes = self._first_shapes(start, counted)
        while True:
            form = Form(tuple, (LEAF, *self.form.items)) if counted else self.form
            parts = _settled(graph, (cond, iteration), form, start, shapes, self.settles)
            before, self.form = specs_in(self.form), self.next_form
            if all(now.is_subtype_of(then) for now, then in zip(specs_in(self.form), before, strict=True)):
                break
        captured = captured_by(parts.test.graph, parts.step.graph)
        results = [(tensor.dtype, shape) for tensor, shape in zip(start, parts.shapes, strict=True)]
        graphs = {"cond": parts.test.graph, "body": parts.step.graph}
        return hold(graph, _while, (start, captured), graphs, results, as_name(name, "while")).outputs

    def _first_shapes(self, start: Sequence[SymbolicTensor], counted: bool) -> list[TensorShape]:
        if self.invariants is None:
            return [tensor.shape for tensor in start]
        shapes = [TensorShape([]), *self.invariants] if counted else self.invariants
        for tensor, shape in zip(start, shapes, strict=True):
            if common(shape, tensor.shape) != shape:
                raise ArgumentError(
                    f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of the "
                    f"loop variable. It enters the loop with shape {tensor.shape}, but the specified shape invariant "
                    f"is {shape}."
                )
        return shapes


def as_sequence(returned: object) -> list[Any] | tuple[Any, ...]:
    """What a body returned, which may be a single value where there is a single loop variable."""
    return returned if isinstance(returned, (list, tuple)) else [returned]


def _as_count(maximum: object) -> Any:
    """The most iterations: a Python number, or a scalar tensor.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is not a scalar.
    """
    value = convert_to_tensor(read(maximum))
    if not value.dtype.is_integer:
        raise DTypeError(f"maximum_iterations: Expected int32, but got {maximum!r} of type '{value.dtype.name}'.")
    if value.shape.rank not in (0, None):
        raise ArgumentError(f"'maximum_iterations' must be a scalar. Received shape: {value.shape}")
    return cast(value, "int32")


def _matched(form: Any, wanted: Any) -> list[TensorShape] | None:
    """A shape for each leaf of a form; None if there is not one for each."""
    if form is LEAF:
        return None if isinstance(wanted, Mapping) else [TensorShape(getattr(wanted, "shape", wanted))]
    if form is None:
        return []
    if form.kind is IndexedSlices and not isinstance(wanted, IndexedSlices):
        wanted = wanted.components() if hasattr(wanted, "components") else _shapes_of_slices(wanted)
    shapes = form.parts_like(wanted)
    if shapes is None:
        return None
    parts = [_matched(item, shape) for item, shape in zip(form.items, shapes, strict=True)]
    return None if None in parts else [shape for part in parts for shape in part or ()]


def _shapes_of_slices(wanted: Any) -> IndexedSlices:
    """The shapes of the tensors that slices are made of, by that of the whole tensor; any number of rows will do."""
    shape = TensorShape(wanted)
    return IndexedSlices(TensorShape([None]) + shape[1:], TensorShape([None]), TensorShape([shape.rank]))


def _is_like(form: object, other: object) -> bool:
    """Whether two forms are the same, but for lists and tuples."""
    if not isinstance(form, Form) or not isinstance(other, Form):
        return form is other
    if (form.is_composite or other.is_composite) and not (form.kind is other.kind and same_extra(form, other)):
        return False
    named = form.is_mapping or other.is_mapping
    same = form.is_mapping == other.is_mapping and (not named or form.keys == other.keys)
    return (
        same
        and len(form.items) == len(other.items)
        and all(_is_like(a, b) for a, b in zip(form.items, other.items, strict=True))
    )


def _settled(
    graph: Graph,
    functions: tuple[Callable[..., Any], Callable[..., Any]],
    form: object,
    start: list[SymbolicTensor],
    shapes: list[TensorShape],
    settles: bool,
) -> Parts:
    """The graphs of a loop, of which an iteration keeps what is known of the shapes.

    If the loop `settles`, both are traced again, with less known of the shapes, until that is so.
    """
    dtypes = [tensor.dtype for tensor in start]
    while True:
        kinds = list(zip(dtypes, shapes, strict=True))
        test = Inner(graph, functions[0], kinds, form)
        test.finish()
        if test.form is not LEAF or not test.kinds[0][0].is_bool:
            raise DTypeError(f"The condition of a while_loop() must return a boolean scalar, got {test.made!r}.")
        step = Inner(graph, functions[1], kinds, form)
        step.finish(dtypes)
        _check_dtypes(start, step)
        kept = [common(shape, made) for shape, (_, made) in zip(shapes, step.kinds, strict=True)]
        if kept == shapes:
            return Parts(test, step, shapes)
        if not settles:
            raise _changed(start, shapes, step)
        shapes = kept


def _check_dtypes(start: Sequence[SymbolicTensor], step: Inner) -> None:
    for tensor, (after, _) in zip(start, step.kinds, strict=True):
        if tensor.dtype is not after:
            raise DTypeError(
                f"Loop var {tensor.name} enters the loop with type {tensor.dtype.name} but has type {after.name} after "
                f"1 iteration. {tensor.name} type should remain constant: cast it to tf.{tensor.dtype.name}."
            )


def _changed(start: Sequence[SymbolicTensor], shapes: Sequence[TensorShape], step: Inner) -> ArgumentError:
    """What to say of an iteration after which a shape is another one than before it, or less known."""
    made = [shape for _, shape in step.kinds]
    tensor, before, after = next(each for each in zip(start, shapes, made, strict=True) if common(*each[1:]) != each[1])
    return ArgumentError(
        f"Input tensor `{tensor.name}` enters the loop with shape {before}, but has shape {after} after one iteration. "
        "To allow the shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to specify "
        "a less-specific shape."
    )
