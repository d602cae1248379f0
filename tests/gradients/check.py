"""Checks of gradients, shared by all tests in this folder.

    check(function, x, y)                   the tape's gradients against central differences
    check_graph(function, x, y)             those of tf.gradients, in a session, with sizes that the graph does not know
    check_torch(function, theirs, x, y)     the tape's against those of PyTorch's autograd
    check_second_order(function, x, y)      the gradients of the gradients, both ways
    check_all(function, x, y, torch=...)    everything above
    tape_gradient(function, [1.0], [2.0])   the gradients at some values, to compare with recorded figures

`function` takes situs tensors, one for each array, and returns a tensor or a structure of tensors. Floating arrays are
made float64 and complex ones complex128; of these the gradients are checked. Integers, booleans and strings are passed
on as they are. What has no floating dtype in the result is left alone.

The result is projected to one number with random weights: ``L = sum(Re(conj(weights) * result))``, and the weights are
the gradients of the result that the tape starts with. The gradient of a complex input is ``dL/dRe + i dL/dIm``.

Keep arrays small: each element costs two evaluations. Keep them away from kinks (0 of relu, ties of a maximum) by
more than `step`; what TensorFlow does at a kink is for a recorded figure to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch as pytorch

import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import flatten
from situs._src.ops.constant import constant, convert_to_tensor, fill

Function = Callable[..., Any]
Array = Any
STEP = 1e-6  # central differences in float64 are exact to about 1e-10 of the third derivative, and 1e-10 in rounding


def check(
    function: Function,
    *arrays: Array,
    nothing: Collection[int] = (),
    step: float = STEP,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Compares the gradients of a tape with central differences.

    Args:
        function: What to differentiate.
        arrays: Where.
        nothing: The numbers of the arrays whose gradient must be None.
        step: The step of the differences.
        rtol: How much gradients may differ, relative to the differences.
        atol: How much they may differ in any case.
    """
    values = prepared(arrays)
    weights = projection(run_eagerly(function, values))
    found = tape_gradients(function, values, weights)
    _compare("The tape", function, values, found, _differences(function, values, weights, step), nothing, rtol, atol)


def check_graph(
    function: Function,
    *arrays: Array,
    nothing: Collection[int] = (),
    step: float = STEP,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    rank_known: bool = True,
) -> None:
    """Compares the gradients of a graph, whose placeholders have unknown sizes, with central differences.

    The arguments are those of `check`, and `rank_known`: whether the placeholders have a rank.
    """
    values = prepared(arrays)
    weights = projection(run_eagerly(function, values))
    found = graph_gradients(function, values, weights, rank_known)
    _compare("The graph", function, values, found, _differences(function, values, weights, step), nothing, rtol, atol)


def check_torch(
    function: Function,
    torch_function: Function,
    *arrays: Array,
    nothing: Collection[int] = (),
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> None:
    """Compares results and gradients of a tape with those of PyTorch's autograd on the CPU."""
    values = prepared(arrays)
    ours = run_eagerly(function, values)
    weights = projection(ours)
    theirs, expected = _torch_gradients(torch_function, values, weights)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        what = f"Result {number} of {_name(function)}, as PyTorch computes it"
        np.testing.assert_allclose(one, other, rtol, atol, err_msg=what)
    found = tape_gradients(function, values, weights)
    _compare("The tape", function, values, found, expected, nothing, rtol, atol, "PyTorch's autograd")


def check_second_order(
    function: Function, *arrays: Array, graph: bool = True, step: float = STEP, rtol: float = 1e-4, atol: float = 1e-6
) -> None:
    """Compares the gradients of gradients, with respect to the arrays and to the gradients given, with differences."""
    values = prepared(arrays)
    weights = projection(run_eagerly(function, values))
    twice = first_gradients(function, len(values))
    every = [*values, *weights]
    seeds = projection(run_eagerly(twice, every))
    expected = _differences(twice, every, seeds, step)
    found = _zeros_for_none(tape_gradients(twice, every, seeds), every)
    _compare("A tape in a tape", function, every, found, expected, (), rtol, atol)
    if graph:
        found = _zeros_for_none(graph_gradients(twice, every, seeds), every)
        _compare("tf.gradients of tf.gradients", function, every, found, expected, (), rtol, atol)


def check_all(
    function: Function,
    *arrays: Array,
    torch: Function | None = None,
    second: bool = True,
    nothing: Collection[int] = (),
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Checks a tape, a graph, the second order if it exists, and PyTorch if it has the function."""
    check(function, *arrays, nothing=nothing, rtol=rtol, atol=atol)
    check_graph(function, *arrays, nothing=nothing, rtol=rtol, atol=atol)
    if second:
        check_second_order(function, *arrays)
    if torch is not None:
        check_torch(function, torch, *arrays, nothing=nothing)


# Inputs and results.


def prepared(arrays: Sequence[Array]) -> list[Array]:
    """The arrays in double precision."""
    return [_double(np.asarray(array)) for array in arrays]


def _double(array: Array) -> Array:
    kind = {"f": np.float64, "c": np.complex128}.get(array.dtype.kind)
    return array if kind is None else array.astype(kind)


def is_smooth(value: Any) -> bool:
    """Whether an array or a tensor is of numbers that have gradients."""
    dtype = value.dtype
    return (dtype.is_floating or dtype.is_complex) if isinstance(value, Tensor) else dtype.kind in "fc"


def _smooth_results(function: Function, tensors: Sequence[Tensor]) -> list[Tensor]:
    results = [read(one) for one in flatten(function(*tensors))]
    smooth = [one for one in results if isinstance(one, Tensor) and is_smooth(one)]
    assert smooth, f"{_name(function)} gives nothing that has a gradient: {results}"
    return smooth


def run_eagerly(function: Function, values: Sequence[Array]) -> list[Array]:
    """The floating results of a function, as arrays."""
    return [one.numpy() for one in _smooth_results(function, [convert_to_tensor(value) for value in values])]  # type: ignore[attr-defined]


def projection(results: Sequence[Array]) -> list[Array]:
    """Random weights for every element of some results; the same for the same shapes."""
    random = np.random.RandomState(len(results))
    return [_random_like(random, one) for one in results]


def _random_like(random: np.random.RandomState, result: Array) -> Array:
    weights = random.uniform(0.5, 1.5, result.shape) * random.choice([-1.0, 1.0], result.shape)
    if result.dtype.kind == "c":
        weights = weights + 1j * random.uniform(-1.5, 1.5, result.shape)
    return np.asarray(weights).astype(result.dtype)


NAN, INF = float("nan"), float("inf")


def sample(low: float, high: float, shape: Sequence[int] = (2, 3), seed: int = 0) -> Array:
    """Numbers between two bounds."""
    return np.random.RandomState(seed).uniform(low, high, shape)


def sample_complex(shape: Sequence[int] = (3,), seed: int = 0) -> Array:
    """Complex numbers near 0.6, which are in the domain of most functions."""
    return sample(0.3, 0.9, shape, seed) + 1j * sample(-0.8, 0.8, shape, seed + 1)


def tape_gradient(function: Function, *values: Any, dtype: Any = dt.float64, up: Any = None) -> list[Any]:
    """The gradients of a function at some values, for a gradient `up` of its result; None where there is none."""
    tensors = [constant(value, dtype) for value in values]
    with GradientTape() as tape:
        tape.watch(tensors)
        result = function(*tensors)
    seed = None if up is None else fill(result.shape.as_list(), constant(up, result.dtype))
    return [None if grad is None else read(grad).numpy() for grad in tape.gradient(result, tensors, seed)]


def in_a_graph(function: Function, *values: Any) -> list[Any]:
    """The tensors that `tf.gradients` gives for vectors of float64; None where there is none."""
    with tf1.Graph().as_default():
        inputs = [tf1.placeholder(dt.float64, [None]) for value in values]
        return gradients(function(*inputs), inputs)


# Gradients, four ways.


def tape_gradients(function: Function, values: Sequence[Array], weights: Sequence[Array]) -> list[Any]:
    """The gradients of the floating inputs, by a tape; None for the other inputs."""
    tensors = [convert_to_tensor(value) for value in values]
    with GradientTape() as tape:
        tape.watch([one for one in tensors if is_smooth(one)])
        results = _smooth_results(function, tensors)
    found = tape.gradient(results, [one for one in tensors if is_smooth(one)], list(map(convert_to_tensor, weights)))
    return _aligned(values, [None if one is None else read(one).numpy() for one in found])


def graph_gradients(
    function: Function, values: Sequence[Array], weights: Sequence[Array], rank_known: bool = True
) -> list[Any]:
    """The gradients of the floating inputs, by `tf.gradients` in a graph that knows no sizes."""
    with tf1.Graph().as_default():
        inputs = [_placeholder(value, rank_known) for value in values]
        seeds = [_placeholder(value, rank_known) for value in weights]
        results = _smooth_results(function, inputs)
        found = gradients(results, [one for one in inputs if is_smooth(one)], seeds)
        fetched = [None if one is None else read(one) for one in found]
        feeds = dict(zip([*inputs, *seeds], [*values, *weights], strict=True))
        with tf1.Session() as session:
            made = iter(session.run([one for one in fetched if one is not None], feeds))
    return _aligned(values, [None if one is None else next(made) for one in fetched])


def _placeholder(value: Array, rank_known: bool) -> Any:
    return tf1.placeholder(value.dtype, [None] * value.ndim if rank_known else None)


def _torch_gradients(
    function: Function, values: Sequence[Array], weights: Sequence[Array]
) -> tuple[list[Array], list[Any]]:
    tensors = [pytorch.tensor(value, requires_grad=is_smooth(value)) for value in values]
    made = function(*tensors)
    flat = made if isinstance(made, (tuple, list)) else [made]
    results = [one for one in flat if one.is_floating_point() or one.is_complex()]
    sources = [tensor for tensor in tensors if tensor.requires_grad]
    seeds = [pytorch.tensor(weight) for weight in weights]
    found = pytorch.autograd.grad(results, sources, seeds, allow_unused=True)
    grads = _aligned(values, [None if one is None else one.resolve_conj().numpy() for one in found])
    return [one.detach().resolve_conj().numpy() for one in results], grads


def first_gradients(function: Function, count: int) -> Function:
    """A function of the inputs of another and the gradients of its results, which gives the gradients of the inputs."""

    def first(*inputs: Any) -> list[Any]:
        tensors, seeds = inputs[:count], inputs[count:]
        sources = [one for one in tensors if is_smooth(one)]
        with GradientTape() as tape:
            tape.watch(sources)
            results = _smooth_results(function, tensors)
        return [one for one in tape.gradient(results, sources, list(seeds)) if one is not None]

    first.__name__ = f"the gradient of {_name(function)}"
    return first


def _differences(function: Function, values: Sequence[Array], weights: Sequence[Array], step: float) -> list[Any]:
    return [_difference(function, values, n, weights, step) if is_smooth(v) else None for n, v in enumerate(values)]


def _difference(
    function: Function, values: Sequence[Array], number: int, weights: Sequence[Array], step: float
) -> Array:
    """The central differences of the projected result for every element of one input."""

    def projected(moved: Array) -> float:
        results = run_eagerly(function, [*values[:number], moved, *values[number + 1 :]])
        return sum(float(np.sum((np.conj(w) * r).real)) for w, r in zip(weights, results, strict=True))

    found = np.zeros_like(values[number])
    for place, unit in _moves(values[number]):
        change = np.zeros_like(found)
        change[place] = step * unit
        found[place] += unit * (projected(values[number] + change) - projected(values[number] - change)) / (2 * step)
    return found


def _moves(value: Array) -> Iterator[tuple[Any, complex]]:
    for place in np.ndindex(value.shape):
        yield place, 1
        if value.dtype.kind == "c":
            yield place, 1j


# Comparing.


def _aligned(values: Sequence[Array], found: Sequence[Any]) -> list[Any]:
    """The gradients of the floating inputs at the numbers of these among all inputs."""
    smooth = iter(found)
    return [next(smooth) if is_smooth(value) else None for value in values]


def _zeros_for_none(found: Sequence[Any], values: Sequence[Array]) -> list[Any]:
    pairs = zip(found, values, strict=True)
    return [np.zeros_like(value) if one is None and is_smooth(value) else one for one, value in pairs]


def _compare(
    who: str,
    function: Function,
    values: Sequence[Array],
    found: Sequence[Any],
    expected: Sequence[Any],
    nothing: Collection[int],
    rtol: float,
    atol: float,
    truth: str = "central differences",
) -> None:
    for number, value in enumerate(values):
        if not is_smooth(value):
            continue
        where = f"for input {number} of {_name(function)}, of shape {list(value.shape)}"
        if number in nothing:
            assert found[number] is None, f"{who} gives a gradient {where}; there should be none:\n{found[number]}"
            continue
        assert found[number] is not None, f"{who} gives no gradient {where}; {truth} say\n{expected[number]}"
        assert expected[number] is not None, f"{truth} give no gradient {where}; {who} gives\n{found[number]}"
        assert found[number].shape == value.shape, f"{who} gives a gradient of shape {found[number].shape} {where}"
        assert found[number].dtype == value.dtype, f"{who} gives a gradient of {found[number].dtype} {where}"
        message = f"{who} (first) and {truth} (second) differ {where}, which is\n{value}"
        np.testing.assert_allclose(found[number], expected[number], rtol, atol, err_msg=message)


def _name(function: Function) -> str:
    return getattr(function, "__name__", repr(function))
