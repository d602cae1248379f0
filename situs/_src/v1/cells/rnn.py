"""Running cells over sequences: ``tf.nn.dynamic_rnn``, ``static_rnn``, ``raw_rnn`` and bidirectional ones.

    dynamic_rnn     a tensor of all steps; the steps are a loop, so that a graph does not grow with their number
    static_rnn      a list of steps, each with operations of its own
    raw_rnn         a loop whose inputs and end a function of the program says

If examples have different lengths, an example that has ended keeps its state, and its outputs are zeros. The steps of a
plain LSTM are one op (`ops.nn.recurrent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.nest import assert_same_structure
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten, is_structure, pack_like
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.array import identity, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater_equal, logical_not, logical_or
from situs._src.ops.constant import constant, convert_to_tensor, zeros_like
from situs._src.ops.constant import range as range_of
from situs._src.ops.gather import where
from situs._src.ops.join import concat, stack, unstack
from situs._src.ops.loop import while_loop
from situs._src.ops.rearrange import reverse, reverse_sequence
from situs._src.ops.reduce import reduce_all
from situs._src.ops.rows import Elems, Walk
from situs._src.ops.tensor_array import TensorArray
from situs._src.v1.cells.base import RNNCell, check_cell, zero_tensors
from situs._src.v1.cells.kinds import before_end
from situs._src.v1.frontend import builds
from situs._src.variables.scope import VariableScope, variable_scope


@export(
    v1="nn.dynamic_rnn",
    differs="Plain LSTM cells are one op for all steps, also in MultiRNNCell, with dropout of inputs and outputs; "
    "in TensorFlow they are a loop of steps.",
)
@builds
def dynamic_rnn(
    cell: RNNCell,
    inputs: ArrayLike,
    sequence_length: ArrayLike | None = None,
    initial_state: object = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Takes a cell through all steps of sequences.

    Args:
        cell: The cell.
        inputs: batch x steps x size, or a structure of such.
        sequence_length: How many steps each example has; by default all.
        initial_state: The state to begin with; zeros by default, which need `dtype`.
        dtype: The dtype of the state of zeros.
        parallel_iterations: Accepted for TensorFlow's programs; steps follow each other.
        swap_memory: Accepted for TensorFlow's programs.
        time_major: Whether inputs and outputs are steps x batch x size.
        scope: The variable scope, ``"rnn"`` by default.

    Returns:
        The outputs of all steps, and the last state.
    """
    check_cell(cell)
    with variable_scope(scope or "rnn"):
        rows = pack_like(inputs, [_steps_first(leaf, time_major) for leaf in flatten(inputs)])
        first = flatten(rows)[0]
        lengths = None if sequence_length is None else _as_lengths(sequence_length, first)
        state = _first_state(cell, initial_state, _batch_of(first, 1), dtype)
        outputs, state = _walk(cell, rows, lengths, state, dtype)
        if not time_major:
            outputs = pack_like(outputs, [_swapped(leaf) for leaf in flatten(outputs)])
        return outputs, state


def _walk(cell: Any, rows: Any, lengths: Any, state: Any, dtype: Any) -> tuple[Any, Any]:
    """Outputs of all steps, steps first, and the last state."""
    first = flatten(rows)[0]
    if rows is first and first.shape.rank == 3 and isinstance(cell, RNNCell) and cell.is_plain():
        outputs, state = cell.walk(rows, state, lengths)
        return outputs if lengths is None else where(before_end(rows, lengths), outputs, zeros_like(outputs)), state
    zero = zero_tensors(cell.output_size, _batch_of(first, 1), dtype or flatten(state)[0].dtype)

    def turn(before: Any, row: Any) -> tuple[Any, list[Any]]:
        values, number = row if lengths is not None else (row, None)
        output, after = _stepped(cell, values, before)
        if number is not None:
            ended = greater_equal(number, lengths)
            output, after = _kept_where(ended, zero, output), _kept_where(ended, before, after)
        assert_same_structure(cell.output_size, output, check_types=False)
        return after, flatten(output)

    elems = Elems(rows) if lengths is None else Elems((rows, range_of(_batch_of(first, 0))))
    walk = Walk(elems, turn, [(leaf.dtype, leaf.shape) for leaf in flatten(zero)])
    last, outputs = walk.run(state)
    return pack_like(zero, outputs), last


def _stepped(cell: RNNCell, inputs: ArrayLike, state: object) -> tuple[Any, Any]:
    """One step, whose state has the form of the one before."""
    output, after = cell(inputs, state)
    assert_same_structure(state, after)
    return output, after


def _kept_where(ended: Any, before: object, after: object) -> Any:
    """The structure `after`, with what `before` has for examples that have ended."""
    pairs = zip(flatten(before), flatten(after), strict=True)
    return pack_like(after, [new if _goes_through(old) else _chosen(ended, old, new) for old, new in pairs])


def _goes_through(value: Any) -> bool:
    return isinstance(value, TensorArray) or value.shape.rank == 0


def _chosen(ended: Any, old: Any, new: Any) -> Tensor:
    for _ in range((new.shape.rank or 1) - 1):
        ended = ended[..., None]
    return where(ended, old, new)


def _steps_first(value: ArrayLike, time_major: bool) -> Tensor:
    tensor = convert_to_tensor(value)
    if tensor.shape.rank is None or tensor.shape.rank < 3 or not tensor.shape[2:].is_fully_defined():
        raise ArgumentError(
            "Input size (depth of inputs) must be accessible via shape inference: dynamic_rnn takes batch x steps x "
            f"size, got a tensor of shape {tensor.shape}."
        )
    return tensor if time_major else _swapped(tensor)


def _swapped(value: Any) -> Tensor:
    """A tensor with its first two dimensions in the other order."""
    return transpose(value, [1, 0, *range(2, value.shape.rank)])


def _batch_of(tensor: Any, axis: int) -> Any:
    known = tensor.shape[axis]
    return shape_of(tensor)[axis] if known is None else known


def _as_lengths(lengths: ArrayLike, like: Any) -> Tensor:
    tensor = cast(lengths, dt.int32)
    if tensor.shape.rank not in (None, 1):
        raise ArgumentError(
            "Argument sequence_length must be a vector of length batch_size. Received a tensor of shape "
            f"{tensor.shape}."
        )
    if not tensor.shape.is_compatible_with([like.shape[1]]):
        raise ArgumentError(
            f"Argument sequence_length has {tensor.shape[0]} lengths for a batch of {like.shape[1]} examples."
        )
    return identity(tensor, name="sequence_length")


def _first_state(cell: RNNCell, given: object, batch: Any, dtype: Any) -> Any:
    if given is not None:
        return pack_like(given, [convert_to_tensor(leaf) for leaf in flatten(given)])
    if dtype is None:
        raise ArgumentError("If no initial_state is provided, argument `dtype` must be specified")
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)
    return cell.zero_state(batch, dtype)


@export(v1="nn.bidirectional_dynamic_rnn")
@builds
def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: ArrayLike,
    sequence_length: ArrayLike | None = None,
    initial_state_fw: object = None,
    initial_state_bw: object = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Takes one cell through sequences from the beginning, and another one from the end.

    Args:
        cell_fw: The cell that begins at the first step.
        cell_bw: The cell that begins at an example's last step.
        inputs: See `dynamic_rnn`, as with the arguments that are not named here.
        sequence_length: See `dynamic_rnn`.
        initial_state_fw: The state that `cell_fw` begins with.
        initial_state_bw: The state that `cell_bw` begins with.
        dtype: See `dynamic_rnn`.
        parallel_iterations: See `dynamic_rnn`.
        swap_memory: See `dynamic_rnn`.
        time_major: See `dynamic_rnn`.
        scope: The variable scope, ``"bidirectional_rnn"`` by default; the cells have ``fw`` and ``bw`` in it.

    Returns:
        The outputs of both, and the last states of both.
    """
    check_cell(cell_fw, "cell_fw")
    check_cell(cell_bw, "cell_bw")
    axes = (0, 1) if time_major else (1, 0)

    def turned(value: ArrayLike) -> Any:
        leaves = [convert_to_tensor(leaf) for leaf in flatten(value)]
        if sequence_length is None:
            return pack_like(value, [reverse(leaf, [axes[0]]) for leaf in leaves])
        return pack_like(value, [reverse_sequence(leaf, sequence_length, *axes) for leaf in leaves])

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            there, last_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major, scope=forward
            )
        with variable_scope("bw") as backward:
            back, last_bw = dynamic_rnn(
                cell_bw, turned(inputs), sequence_length, initial_state_bw, dtype, time_major=time_major, scope=backward
            )
    return (there, turned(back)), (last_fw, last_bw)


@export(v1="nn.static_rnn")
@builds
def static_rnn(
    cell: RNNCell,
    inputs: ArrayLike,
    initial_state: object = None,
    dtype: DTypeLike | None = None,
    sequence_length: ArrayLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Takes a cell through a list of steps, each with operations of its own.

    Args:
        cell: The cell.
        inputs: A list of tensors, batch x size, one for each step; or of structures of such.
        initial_state: The state to begin with; zeros by default, which need `dtype`.
        dtype: The dtype of the state of zeros.
        sequence_length: How many steps each example has; by default all.
        scope: The variable scope, ``"rnn"`` by default.

    Returns:
        The list of the outputs, and the last state.
    """
    check_cell(cell)
    steps = [pack_like(step, [convert_to_tensor(leaf) for leaf in flatten(step)]) for step in _as_steps(inputs)]
    with variable_scope(scope or "rnn") as around:
        first = flatten(steps[0])[0]
        batch = _batch_of(first, 0)
        state = _first_state(cell, initial_state, batch, dtype)
        zero = lengths = None
        if sequence_length is not None:
            lengths = _as_lengths(sequence_length, first[None])
            zero = zero_tensors(cell.output_size, batch, dtype or flatten(state)[0].dtype)
        outputs = []
        for number, step in enumerate(steps):
            if number:
                around.reuse_variables()
            output, after = _stepped(cell, step, state)
            if lengths is not None:
                ended = greater_equal(number, lengths)
                output, after = _kept_where(ended, zero, output), _kept_where(ended, state, after)
            outputs.append(output)
            state = after
        return outputs, state


def _as_steps(inputs: ArrayLike) -> Sequence[Any]:
    if not isinstance(inputs, (list, tuple)):
        hint = " tf.unstack(x, axis=1) makes one of a tensor." if hasattr(inputs, "shape") else ""
        raise DTypeError(f"Argument `inputs` must be a sequence. Received: {shown(inputs)}.{hint}")
    if not inputs:
        raise ArgumentError("Argument `inputs` must not be empty.")
    return inputs


@export(v1="nn.static_bidirectional_rnn")
@builds
def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: ArrayLike,
    initial_state_fw: object = None,
    initial_state_bw: object = None,
    dtype: DTypeLike | None = None,
    sequence_length: ArrayLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """`static_rnn` in both directions; the other arguments are those of `bidirectional_dynamic_rnn`.

    Returns:
        The list of the outputs of both, side by side; the last state of each.
    """
    check_cell(cell_fw, "cell_fw")
    check_cell(cell_bw, "cell_bw")
    steps = _as_steps(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            there, last_fw = static_rnn(cell_fw, steps, initial_state_fw, dtype, sequence_length, forward)
        with variable_scope("bw") as backward:
            back, last_bw = static_rnn(
                cell_bw, _turned(steps, sequence_length), initial_state_bw, dtype, sequence_length, backward
            )
    both = zip(there, _turned(back, sequence_length), strict=True)
    return [_beside(fw, bw) for fw, bw in both], last_fw, last_bw


def _beside(fw: Any, bw: Any) -> Any:
    return pack_like(fw, [concat(pair, 1) for pair in zip(flatten(fw), flatten(bw), strict=True)])


def _turned(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """The steps in the other order, each example by its length."""
    if lengths is None:
        return list(reversed(steps))
    columns = zip(*(flatten(step) for step in steps), strict=True)
    turned = [unstack(reverse_sequence(stack(list(column)), lengths, 0, 1), len(steps)) for column in columns]
    return [pack_like(step, leaves) for step, leaves in zip(steps, zip(*turned, strict=True), strict=True)]


@export(v1="nn.raw_rnn")
@builds
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Takes a cell through steps that a function of the program says.

    Args:
        cell: The cell.
        loop_fn: From the number of the step, and the last output, state and loop state (None before the first step),
            to: which examples have ended, the next inputs, the next state, what to keep, and the next loop state.
            What it says to keep before the first step is the form of it, or None for the cell's outputs.
        parallel_iterations: Accepted for TensorFlow's programs; steps follow each other.
        swap_memory: Accepted for TensorFlow's programs.
        scope: The variable scope, ``"rnn"`` by default.

    Returns:
        A ``TensorArray`` of what was kept, or a structure of them; the last state; the last loop state.
    """
    check_cell(cell)
    if not callable(loop_fn):
        raise DTypeError(f"Argument `loop_fn` must be a callable. Received: {shown(loop_fn)}.")
    with variable_scope(scope or "rnn"):
        ended, row, state, form, loop_state = loop_fn(constant(0, dt.int32), None, None, None)
        assert_same_structure(state, cell.state_size, check_types=False)
        state = pack_like(state, [convert_to_tensor(leaf) for leaf in flatten(state)])
        batch = _batch_of(flatten(row)[0], 0)
        zero = _zero_emits(cell, form, batch, flatten(state)[0].dtype)
        arrays = [
            TensorArray(leaf.dtype, 0, dynamic_size=True, element_shape=leaf.shape, clear_after_read=False)
            for leaf in flatten(zero)
        ]

        def turn(number: Any, ended: Any, row: Any, kept: Any, state: Any, carried: Any) -> Any:
            output, after = _stepped(cell, row, state)
            finished, row, after, made, following = loop_fn(number + 1, output, after, carried)
            assert_same_structure(state, after)
            assert_same_structure(zero, made, check_types=False)
            made = flatten(_kept_where(ended, zero, made))
            kept = [array.write(number, value) for array, value in zip(kept, made, strict=True)]
            following = carried if following is None else following
            return (
                number + 1, logical_or(ended, finished), row, kept, _kept_where(ended, state, after), following,
            )  # fmt: skip

        first = constant(0, dt.int32) if loop_state is None else loop_state
        *_, kept, state, last = while_loop(
            lambda number, ended, *_: logical_not(reduce_all(ended)),
            turn,
            [constant(0, dt.int32), convert_to_tensor(ended), row, arrays, state, first],
        )
        return pack_like(zero, kept), state, None if loop_state is None else last


def _zero_emits(cell: RNNCell, form: object, batch: Any, dtype: DTypeLike) -> Any:
    """Zeros in the form of what `raw_rnn` keeps of a step."""
    if form is None:
        return zero_tensors(cell.output_size, batch, dtype)
    leaves = [convert_to_tensor(leaf) for leaf in flatten(form)]
    return pack_like(form, [zero_tensors(TensorShape(leaf.shape), batch, leaf.dtype) for leaf in leaves])


@export(v1="nn.static_state_saving_rnn")
@builds
def static_state_saving_rnn(
    cell: Any,
    inputs: ArrayLike,
    state_saver: Any,
    state_name: Any,
    sequence_length: ArrayLike | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` that begins with a state which an object keeps, and gives it the last one.

    Args:
        cell: The cell.
        inputs: See `static_rnn`.
        state_saver: An object with ``state(name)`` and ``save_state(name, value)``.
        state_name: The name of the state; a tuple of names if states are tuples.
        sequence_length: See `static_rnn`.
        scope: See `static_rnn`.
    """
    check_cell(cell)
    if is_structure(cell.state_size) != is_structure(state_name):
        raise ArgumentError(
            "Argument `state_name` should be the same type as `cell.state_size`. Received: "
            f"state_name={state_name!s}, cell.state_size={cell.state_size!s}."
        )
    names, sizes = flatten(state_name), flatten(cell.state_size)
    if len(names) != len(sizes):
        raise ArgumentError(
            f"Number of elements in argument `state_name` and `cell.state_size` are mismatched: {len(names)} and "
            f"{len(sizes)}."
        )
    start = pack_like(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, start, sequence_length=sequence_length, scope=scope)
    saved = [state_saver.save_state(name, leaf) for name, leaf in zip(names, flatten(state), strict=True)]
    with control_dependencies(saved):
        outputs[-1] = pack_like(outputs[-1], [identity(leaf) for leaf in flatten(outputs[-1])])
        return outputs, pack_like(state, [identity(leaf) for leaf in flatten(state)])
