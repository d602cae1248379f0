"""Gradients of Python functions as ops: of eager tensors they have one, of NumPy arrays they have none."""

from __future__ import annotations

import numpy as np
import pytest

import situs._src.autodiff.python_function  # noqa: F401 - declares the gradient
from situs._src.base import dtype as dt
from situs._src.ops import math
from situs._src.ops.python_function import numpy_function, py_func, py_function
from tests.gradients.check import check, check_graph, in_a_graph, sample, tape_gradient


def test_a_function_of_eager_tensors():
    cube = lambda x: py_function(lambda a: a * a * a, [x], dt.float64)  # noqa: E731
    check(cube, sample(-1, 1))
    check_graph(cube, sample(-1, 1))


def test_a_function_of_several_tensors_with_several_results():
    def function(x, n, y):
        made = py_function(lambda a, k, b: [a * b, math.sin(b), k], [x, n, y], [dt.float64, dt.float64, dt.int32])
        return made[0], made[1]

    check(function, sample(-1, 1), np.array(3, np.int32), sample(1, 2))
    check_graph(function, sample(-1, 1), np.array(3, np.int32), sample(1, 2))


def test_a_result_that_nobody_uses_and_an_input_that_nothing_depends_on():
    def function(x, y):
        return py_function(lambda a, b: [a * a, b], [x, y], [dt.float64, dt.float64])[0]

    check_graph(function, sample(-1, 1), sample(1, 2))


@pytest.mark.parametrize("call", [py_func, numpy_function])
def test_functions_of_arrays_end_gradients(call):
    assert tape_gradient(lambda x: call(np.sinh, [x], dt.float64), [1.0]) == [None]
    assert in_a_graph(lambda x: call(np.sinh, [x], dt.float64), [1.0]) == [None]
