"""Shapes: partial knowledge, broadcasting against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.shapes import TensorShape, brackets, broadcast, normalize_axis
from situs.errors import InvalidArgumentError, SitusError

dims = st.lists(st.integers(0, 3), max_size=4)


@given(dims, dims)
def test_broadcast_agrees_with_numpy(a, b):
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
            broadcast(TensorShape(a), TensorShape(b))
    else:
        assert broadcast(TensorShape(a), TensorShape(b)) == expected


@given(dims, dims, st.data())
def test_forgetting_dimensions_never_contradicts_the_full_answer(a, b, data):
    try:
        full = broadcast(TensorShape(a), TensorShape(b))
    except InvalidArgumentError:
        return
    blur = lambda shape: TensorShape([d if data.draw(st.booleans()) else None for d in shape])  # noqa: E731
    assert broadcast(blur(a), blur(b)).is_compatible_with(full)


def test_printing():
    assert str(TensorShape([2, None])) == "(2, None)"
    assert repr(TensorShape([2, None])) == "TensorShape([2, None])"
    assert str(TensorShape(None)) == "<unknown>"
    assert repr(TensorShape(None)) == "TensorShape(None)"
    assert brackets(TensorShape([2, None])) == "[2,?]"


def test_questions():
    shape = TensorShape([2, None, 3])
    assert (shape.rank, shape.ndims, len(shape), shape[1], shape[-1]) == (3, 3, 3, None, 3)
    assert shape[1:] == [None, 3]
    assert shape.as_list() == [2, None, 3]
    assert not shape.is_fully_defined()
    assert shape.num_elements() is None
    assert TensorShape([2, 3]).num_elements() == 6
    assert TensorShape([]).num_elements() == 1
    assert TensorShape(7) == [7]
    assert TensorShape([2]) != [3]
    assert TensorShape([2]) != "x"


def test_combining():
    assert TensorShape([2, None]).merge_with([None, 3]) == [2, 3]
    assert TensorShape([2]) + [3] == [2, 3]
    assert [2] + TensorShape([3]) == [2, 3]
    assert TensorShape([2]).concatenate(None).rank is None
    with pytest.raises(ValueError, match="incompatible"):
        TensorShape([2]).merge_with([3])
    with pytest.raises(ValueError, match="rank"):
        TensorShape([2]).with_rank_at_least(2)


@pytest.mark.parametrize("bad", [[-1], ["a"], [1.5], "ab", [[1]]])
def test_what_is_no_shape_is_refused(bad):
    with pytest.raises((ValueError, TypeError)):
        TensorShape(bad)


def test_axes_count_from_the_end_too():
    assert normalize_axis(-1, 3) == 2
    with pytest.raises(InvalidArgumentError, match=r"out of range \[-3, 3\)"):
        normalize_axis(3, 3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: TensorShape([2, None])[2], IndexError, r"Shape \(2, None\) has 2 dimensions; there is no dimension 2"),
        (lambda: TensorShape([2])["a"], TypeError, "named by an integer or a slice, got 'a'"),
        (lambda: TensorShape([2]).with_rank(None), ValueError, "A rank is an integer from 0 to 254, got None"),
        (lambda: TensorShape(None).with_rank(2**70), ValueError, "A rank is an integer"),
        (lambda: TensorShape([2]).with_rank_at_least("a"), ValueError, "A rank is an integer"),
        (lambda: TensorShape([2]).assert_has_rank(np.zeros(3)), ValueError, "A rank is an integer"),
        (lambda: TensorShape([2]).with_rank(2), ValueError, "must have rank 2"),
        (lambda: TensorShape(np.array(1.5)), ValueError, "must be integer or None"),
    ],
)
def test_what_a_shape_cannot_do_is_refused_by_an_error_of_ours(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, SitusError)


def test_ranks_made_known_and_scalars_as_shapes():
    assert TensorShape(None).with_rank(2).as_list() == [None, None]
    assert TensorShape([2, None]).with_rank(2).as_list() == [2, None]
    assert TensorShape(np.array(3)) == TensorShape([3])


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (TensorShape.as_list, "as_list"),
        (list, "Cannot iterate over a shape with unknown rank"),
        (len, "Cannot take the length"),
    ],
)
def test_dimensions_of_an_unknown_rank_are_refused(use, said):
    with pytest.raises(InvalidArgumentError, match=said):
        use(TensorShape(None))
