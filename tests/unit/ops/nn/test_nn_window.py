"""How windows lie: numbers of windows and padding, as TensorFlow counts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.ops.nn.window import as_padding, format_of, slide, vector
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, UnimplementedError


def lay(size, window, stride=1, dilation=1, padding="SAME", pair=(0, 0)):
    laid = slide(
        (size,),
        (window,),
        "NWC",
        strides=(1, stride, 1),
        padding=padding,
        explicit_paddings=(0, 0, *pair, 0, 0) if padding == "EXPLICIT" else (),
        dilations=(1, dilation, 1),
    )
    return laid.counts[0], laid.before[0], laid.after[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"size": 5, "window": 3}, (5, 1, 1)),
        ({"size": 5, "window": 2}, (5, 0, 1)),  # the odd element goes to the end
        ({"size": 5, "window": 4, "stride": 2}, (3, 1, 2)),
        ({"size": 4, "window": 1, "stride": 3}, (2, 0, 0)),
        ({"size": 5, "window": 3, "dilation": 2}, (5, 2, 2)),
        ({"size": 0, "window": 3}, (0, 1, 1)),
        ({"size": 5, "window": 3, "padding": "VALID"}, (3, 0, 0)),
        ({"size": 5, "window": 3, "stride": 2, "padding": "VALID"}, (2, 0, 0)),
        ({"size": 2, "window": 3, "padding": "VALID"}, (0, 0, 0)),
        ({"size": 1, "window": 4, "stride": 2, "padding": "VALID"}, (0, 0, 0)),  # C++ rounds -1/2 to 0
        ({"size": 5, "window": 3, "padding": "EXPLICIT", "pair": (2, 1)}, (6, 2, 1)),
        ({"size": None, "window": 3, "padding": "VALID"}, (None, 0, 0)),
        ({"size": 5, "window": None, "padding": "VALID"}, (None, 0, 0)),
        ({"size": 5, "window": None, "stride": 2}, (3, 0, 0)),
    ],
)
def test_windows_are_counted_as_in_tensorflow(arguments, expected):
    assert lay(**arguments) == expected


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 6), st.integers(1, 4))
def test_same_padding_is_the_least_that_covers_the_input(size, window, stride, dilation):
    count, before, after = lay(size, window, stride, dilation)
    reach = (window - 1) * dilation + 1
    assert count == -(-size // stride)
    assert 0 <= after - before <= 1
    assert size + before + after >= (count - 1) * stride + reach
    assert before + after == 0 or size + before + after == (count - 1) * stride + reach


def test_a_window_that_never_fits_is_an_error():
    with pytest.raises(
        InvalidArgumentError, match=r"negative: -3 \[input_size: 1, effective_filter_size: 5, stride: 1\]"
    ):
        lay(1, 5, padding="VALID")


@pytest.mark.parametrize(
    ("strides", "dilations", "error", "text"),
    [
        ((1, 0, 1), (1, 1, 1), InvalidArgumentError, "strides should be larger than 0"),
        ((1, 1, 1), (1, -2, 1), InvalidArgumentError, "dilations should be larger than 0"),
        ((2, 1, 1), (1, 1, 1), UnimplementedError, "strides in the batch and depth"),
        ((1, 1, 1), (1, 1, 2), UnimplementedError, "dilations in the batch and depth"),
    ],
)
def test_steps_are_positive_and_spatial(strides, dilations, error, text):
    with pytest.raises(error, match=text):
        slide((4,), (2,), "NWC", strides=strides, padding="VALID", explicit_paddings=(), dilations=dilations)


def test_vectors_have_one_two_or_all_entries():
    assert vector(None, 2, "NHWC", "strides") == (1, 1, 1, 1)
    assert vector(2, 2, "NHWC", "strides") == (1, 2, 2, 1)
    assert vector([3], 2, "NCHW", "strides") == (1, 1, 3, 3)
    assert vector((2, 3), 2, "NHWC", "strides") == (1, 2, 3, 1)
    assert vector(to_tensor([2, 3]), 2, "NHWC", "strides") == (1, 2, 3, 1)
    assert vector([1, 2, 3, 1], 2, "NHWC", "strides") == (1, 2, 3, 1)
    with pytest.raises(InvalidArgumentError, match=r"strides should be of length 1, 2 or 4. Received: .* of length 3"):
        vector([1, 2, 3], 2, "NHWC", "strides")
    for wrong in (1.5, "1", [1, None], [1.0, 2.0]):
        with pytest.raises(DTypeError, match="Expected int or list of ints for argument 'strides'"):
            vector(wrong, 2, "NHWC", "strides")


def test_padding_is_a_word_or_pairs():
    assert as_padding("SAME", 2) == ("SAME", ())
    assert as_padding([[0, 0], [1, 2], [3, 4], [0, 0]], 2) == ("EXPLICIT", (0, 0, 1, 2, 3, 4, 0, 0))
    assert as_padding([(0, 0), np.array([1, 2]), (0, 0)], 1) == ("EXPLICIT", (0, 0, 1, 2, 0, 0))
    for wrong, error, text in (
        ("same", InvalidArgumentError, 'padding\' of "same" is not in the list'),
        (None, DTypeError, "Expected string for argument 'padding' not None"),
        ([[0, 0]], InvalidArgumentError, "it must be of size 4"),
        ([[0, 0], [1], [3, 4], [0, 0]], InvalidArgumentError, "must be a list of size 2"),
        ([[0, 0], 1, [3, 4], [0, 0]], InvalidArgumentError, "must be a list of size 2"),
        ([[0, 0], [[1], [2, 3]], [3, 4], [0, 0]], DTypeError, "Expected int or list of ints for argument 'padding'"),
    ):
        with pytest.raises(error, match=text):
            as_padding(wrong, 2)


def test_formats():
    assert format_of(None, 3) == "NDHWC"
    assert format_of("NHWC", 1) == "NWC"
    assert format_of("NCHW", 1) == "NCW"
    with pytest.raises(InvalidArgumentError, match='"NHCW" is not in the list of allowed values: "NHWC", "NCHW"'):
        format_of("NHCW", 2)
