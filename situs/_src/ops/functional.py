"""Higher-order functions: ``map_fn``, ``scan``, ``foldl``, ``foldr``, ``vectorized_map``.

All of them iterate over the rows of tensors (`ops.rows`):

    map_fn     [f(x0), f(x1), f(x2)]
    scan       [a1 = f(a0, x0), a2 = f(a1, x1), a3 = f(a2, x2)]
    foldl      a3
    foldr      f(f(f(a0, x2), x1), x0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import LEAF, Form, put_together, take_apart
from situs._src.base.typing import ArrayLike, DTypeLike, InitializerLike
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.calling import calls_functions
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.inner import Inner
from situs._src.ops.join import concat
from situs._src.ops.rows import Elems, Walk


@export("map_fn")
@calls_functions
def map_fn(
    fn: Callable[[Any], Any],
    elems: ArrayLike,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Applies a function to each row of some tensors, and makes tensors of the results.

    Args:
        fn: A function of one argument, in the form of `elems`.
        elems: A tensor, or lists, tuples and dictionaries of tensors that have as many rows.
        dtype: The old name of `fn_output_signature`.
        parallel_iterations: Accepted for TensorFlow's programs; rows follow each other here.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        infer_shape: Accepted for TensorFlow's programs.
        name: A name for the operations.
        fn_output_signature: The dtypes, or TensorSpecs, of what `fn` returns, in its form; by default those of `elems`.

    Example:
        >>> import situs as tf
        >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy().tolist()
        [1, 4, 9]
    """
    _check_function(fn, "map_fn")
    signature: Any = dtype if fn_output_signature is None else fn_output_signature
    ragged: Any = elems
    if hasattr(type(signature), "__mapped__"):  # results of different lengths
        return signature.__mapped__(fn, elems)
    if hasattr(type(elems), "__mapped__"):  # rows of different lengths
        return ragged.__mapped__(fn, signature)
    numbered, row_of = _numbered(elems)
    if numbered is not elems:  # something among them is taken apart by the numbers of its rows
        if signature is None:
            raise ArgumentError("map_fn needs fn_output_signature where a sparse tensor is among the elements.")
        given = fn
        fn = lambda numbers: given(row_of(numbers))  # noqa: E731
    with name_scope(name, "map"):
        rows = Elems(numbered)
        form, wanted = (
            (rows.form, [(d, UNKNOWN) for d, _ in rows.row_kinds()]) if signature is None else _declared(signature)
        )
        return _mapped(fn, rows, form, wanted)


def _numbered(elems: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements with numbers of rows instead of what gives its rows by number; and what undoes that for a row.

    Such as a sparse tensor, whose rows do not stand side by side in memory.
    """
    if hasattr(type(elems), "__row__"):
        return elems.__row_numbers__(), elems.__row__
    if type(elems) in (list, tuple):
        parts = [_numbered(item) for item in elems]
        if any(part[0] is not item for part, item in zip(parts, elems, strict=True)):
            kind = type(elems)
            return kind(part[0] for part in parts), lambda row: kind(
                part[1](item) for part, item in zip(parts, row, strict=True)
            )
    if type(elems) is dict:
        named = {key: _numbered(item) for key, item in elems.items()}
        if any(part[0] is not elems[key] for key, part in named.items()):
            return {key: part[0] for key, part in named.items()}, lambda row: {
                key: part[1](row[key]) for key, part in named.items()
            }
    return elems, lambda row: row


def _mapped(fn: Callable[[Any], Any], rows: Elems, form: object, wanted: Sequence[tuple[DType, TensorShape]]) -> Any:
    def body(state: object, row: object) -> tuple[Any, list[Any]]:
        return state, _leaves(fn(row), form)

    walk = Walk(rows, body, wanted)
    if rows.known == 0 and rows.graph is None:  # nothing will be made to see the shapes of
        _, kinds = _results(lambda row: [convert_to_tensor(leaf) for leaf in _leaves(fn(row), form)], rows)
        walk.shapes = [shape.merge_with(found) for shape, (_, found) in zip(walk.shapes, kinds, strict=True)]
    return put_together(form, walk.run(())[1])


@export("vectorized_map")
@calls_functions
def vectorized_map(
    fn: Callable[[Any], Any], elems: ArrayLike, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """The same as `map_fn`, for functions that return anything: the dtypes are found out.

    Args:
        fn: A function of one argument, in the form of `elems`.
        elems: A tensor, or lists, tuples and dictionaries of tensors that have as many rows.
        fallback_to_while_loop: Accepted for TensorFlow's programs; rows are gone through one by one in any case.
        warn: Accepted for TensorFlow's programs.
    """
    _check_function(fn, "vectorized_map")
    with name_scope("vectorized_map"):
        rows = Elems(elems)
        form, kinds = _results(fn, rows)
        return _mapped(fn, rows, form, [(dtype, UNKNOWN) for dtype, _ in kinds])


def _results(fn: Callable[[Any], Any], rows: Elems) -> tuple[Any, list[tuple[DType, TensorShape]]]:
    """The form, dtypes and shapes of what a function makes of a row: it is called once, for a graph never run."""
    outer = Graph() if rows.graph is None else rows.graph
    inner = Inner(outer, fn, rows.row_kinds(), Form(tuple, (rows.form,)))
    inner.finish()
    return inner.form, inner.kinds


@export("foldl")
@calls_functions
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: ArrayLike,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Goes through the rows from the first: ``a = fn(a, row)`` for each.

    Args:
        fn: A function of what has been made so far and of a row; it returns what has been made then.
        elems: A tensor, or lists, tuples and dictionaries of tensors that have as many rows.
        initializer: What to begin with; by default the first row.
        parallel_iterations: Accepted for TensorFlow's programs.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        name: A name for the operations.

    Example:
        >>> import situs as tf
        >>> int(tf.foldl(lambda a, x: 10 * a + x, tf.constant([1, 2, 3])))
        123
    """
    _check_function(fn, "foldl")
    with name_scope(name, "foldl"):
        return _folded(fn, Elems(elems), initializer, reverse=False)


@export("foldr")
@calls_functions
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: ArrayLike,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The same as `foldl`, from the last row to the first."""
    _check_function(fn, "foldr")
    with name_scope(name, "foldr"):
        return _folded(fn, Elems(elems), initializer, reverse=True)


def _folded(fn: Callable[[Any, Any], Any], rows: Elems, initializer: Any, reverse: bool) -> Any:
    state = _first(rows, initializer, reverse)
    form, _ = take_apart(state)

    def body(state: object, row: object) -> tuple[Any, list[Any]]:
        return put_together(form, _leaves(fn(state, row), form)), []

    return Walk(rows, body, reverse=reverse).run(state, skip_first=initializer is None)[0]


@export("scan")
@calls_functions
def scan(
    fn: Callable[[Any, Any], Any],
    elems: ArrayLike,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Goes through the rows like `foldl`, and returns all that was made on the way.

    Args:
        fn: A function of what was made last and of a row.
        elems: A tensor, or lists, tuples and dictionaries of tensors that have as many rows.
        initializer: What to begin with; by default the first row, which then is part of the result.
        parallel_iterations: Accepted for TensorFlow's programs.
        back_prop: Accepted for TensorFlow's programs.
        swap_memory: Accepted for TensorFlow's programs.
        infer_shape: Accepted for TensorFlow's programs.
        reverse: Whether to begin with the last row.
        name: A name for the operations.

    Example:
        >>> import situs as tf
        >>> tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])).numpy().tolist()
        [1, 3, 6]
    """
    _check_function(fn, "scan")
    with name_scope(name, "scan"):
        return _scanned(fn, Elems(elems), initializer, as_bool(reverse, "reverse"))


def _scanned(fn: Callable[[Any, Any], Any], rows: Elems, initializer: Any, reverse: bool) -> Any:
    state = _first(rows, initializer, reverse)
    form, first = take_apart(state)
    wanted = [(tensor.dtype, UNKNOWN) for tensor in first]

    def body(state: object, row: object) -> tuple[Any, list[Any]]:
        made = _leaves(fn(state, row), form)
        return put_together(form, made), made

    walk = Walk(rows, body, wanted, reverse)
    walk.shapes = [tensor.shape for tensor in first]
    made = walk.run(state, skip_first=initializer is None)[1]
    return put_together(form, made if initializer is not None else _with_first(made, first, reverse))


def _with_first(made: list[Tensor], first: list[Tensor], reverse: bool) -> list[Tensor]:
    pairs = zip(made, first, strict=True)
    return [concat([rest, one[None]] if reverse else [one[None], rest], 0) for rest, one in pairs]


# Shared.


def _check_function(fn: Any, what: str) -> None:
    if not callable(fn):
        raise DTypeError(f"{what}() takes a function as its first argument, fn; got {fn!r}.")


def _first(rows: Elems, initializer: Any, reverse: bool) -> Any:
    """What a fold begins with, as tensors."""
    if initializer is None:
        if rows.known == 0:
            raise ArgumentError(
                "Tried to read from index 0 but array size is: 0. There are no rows to begin with; pass an initializer."
            )
        return rows.row(-1 if reverse else 0)
    form, leaves = take_apart(initializer)
    return put_together(form, [convert_to_tensor(leaf) for leaf in leaves])


def _declared(signature: Any) -> tuple[Any, list[tuple[DType, TensorShape]]]:
    """The form of an output signature, and the dtypes and shapes in it."""
    form, leaves = take_apart(signature)
    return form, [_kind(leaf) for leaf in leaves]


def _kind(leaf: Any) -> tuple[DType, TensorShape]:
    """The dtype and shape of a TensorSpec, or of what stands for a dtype alone, as NumPy's do."""
    if isinstance(getattr(leaf, "dtype", None), DType):
        return leaf.dtype, leaf.shape
    return as_dtype(leaf), UNKNOWN


def _leaves(made: object, form: object) -> list[Any]:
    """What a function made, which must have a form.

    Raises:
        ValueError: it has another.
    """
    found, leaves = take_apart(made)
    same = found == form or (isinstance(form, Form) and form.matches(found))
    if not same and not (form is LEAF and isinstance(made, list)):
        raise ArgumentError(
            f"The two structures don't have the same nested structure: fn must return {form}, it returned {found}. "
            "Say what it returns in fn_output_signature."
        )
    return leaves if same else [made]
