"""Good, bad and absurd arguments for anything that can be called."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices.scope import build_into, here

SELF: list[Any] = []
SELF.append(SELF)
NAMELESS: dict[str, Any] = {}
NAMELESS["a"] = NAMELESS
DEEP: Any = 1.0
for _ in range(3000):
    DEEP = [DEEP]


def first(x: Any = None, *more: Any, **named: Any) -> Any:
    """A function that gives what it gets."""
    return x


def nothing(*given: Any, **named: Any) -> None:
    """A function that gives nothing."""


class Values:
    """Arguments; made once, drawn often. Strings name nothing outside of the working directory."""

    def __init__(self, graph: bool = False) -> None:
        self._good: list[Callable[[Random], Any]] = [_array, _array, _tensor, _small, _shape, _dtype, _variable, _word]
        if graph:
            self._good += [_placeholder, _placeholder]
        self._odd = _odd_values()

    def any(self, random: Random) -> Any:
        """Something good, bad or absurd."""
        return self.good(random) if random.random() < 0.65 else random.choice(self._odd)

    def good(self, random: Random) -> Any:
        """Something that many functions take."""
        return random.choice(self._good)(random)

    def shown(self, value: Any) -> str:
        """A value as text, however odd it is."""
        try:
            return ascii(value)[:300]
        except (Exception, RecursionError) as error:
            return f"<{type(value).__name__} whose repr is a {type(error).__name__}>"


DTYPES = (np.float32, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, np.complex64, np.float16)
SHAPES = ((), (3,), (2, 3), (3, 3), (1, 4, 4, 3), (0,), (2, 0), (2, 3, 4), (1,), (4, 4, 1, 2))


def _array(random: Random) -> Any:
    shape = random.choice(SHAPES)
    values = np.random.default_rng(random.randrange(2**32)).uniform(-2, 4, shape)
    return np.asarray(values).astype(random.choice(DTYPES))


def _tensor(random: Random) -> Any:
    before = build_into(None, here.scope)
    try:
        with tf.device(random.choice(("/cpu:0", "/gpu:0", "/gpu:1"))):
            return tf.constant(_array(random))
    finally:
        build_into(*before)


def _variable(random: Random) -> Any:
    if here.graph is not None and here.graph.finalized:
        return _array(random)
    return (v1.Variable if here.graph is not None else tf.Variable)(_array(random))


def _placeholder(random: Random) -> Any:
    if here.graph is None or here.graph.finalized:
        return _array(random)
    shape = random.choice((None, *SHAPES, (None,), (None, 3), (None, None)))
    return v1.placeholder(random.choice(DTYPES), shape)


def _small(random: Random) -> Any:
    return random.choice((0, 1, 2, 3, -1, 0.5, 1.0, True, False, None, 1e-3, [0], [1, 2], (0, 1), [], {}))


def _shape(random: Random) -> Any:
    return random.choice(([2, 3], [None, 3], [-1], [], (3,), tf.TensorShape(None), tf.TensorShape([2]), [0, 5], [1, 1]))


def _dtype(random: Random) -> Any:
    return random.choice((tf.float32, tf.int32, "float32", np.int64, tf.string, tf.bool, float, tf.bfloat16, "int8"))


def _word(random: Random) -> Any:
    return random.choice(("a", "x", "sum", "mean", "valid", "SAME", "NHWC", b"bytes", "loss", "ij", "", "global_step"))


def _odd_values() -> list[Any]:
    with v1.Graph().as_default():
        foreign = v1.constant([1.0])
    return [
        *(None, object(), int, first, nothing, SELF, NAMELESS, DEEP, ..., slice(None), iter([1, 2]), {1, 2}, range(3)),
        *(10**400, 2**63, -(2**63), 2**31, 2**62, 2**40, -5, math.nan, math.inf, -math.inf, 1e308, 5e-324, 1j),
        *("\ud800", "\0", "a" * 10_000, "\u202e", " ", "a b", "^x:0", "x:0", "%s", b"\xff\0", bytearray(b"x")),
        *([[1, 2], [3]], [None], [2**62, 2**62], [2**40], [[]] * 3, {"a": 1.0}, {1: 2, "b": 3}, [object()], ((), ())),
        *(np.array([None, 1], object), np.array(["2020-01-01"], "datetime64[D]"), np.array("text"), np.float32(1)),
        *(np.zeros((0, 3)), np.zeros([1] * 20), np.array([math.nan, math.inf]), np.full(3, 2**62), np.ma.masked),
        *(np.zeros(3, [("a", "f4")]), np.arange(6.0)[::-2], np.float16(6e4), np.array([b"a", b""], object), foreign),
        *(tf.float32, tf.resource if hasattr(tf, "resource") else None, tf.TensorShape(None), tf.TensorSpec([1])),
        *(tf.errors.InvalidArgumentError, ValueError("x"), np, type, lambda: 1.0, memoryview(b"abc"), complex("nan")),
    ]
