"""Histograms: of TensorFlow 1, with limits for all; of TensorFlow 2, with buckets between the least and the largest."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.util import tensor_util

from situs._src.summaries.histogram import buckets_of, fill_message

NAN, INF = float("nan"), float("inf")
NUMBERS = st.lists(st.floats(-1e30, 1e30), max_size=40)


def message_of(values):
    made = HistogramProto()
    fill_message(made, np.array(values, np.float64), "tag")
    return made


def test_limits_are_those_of_tensorflow():
    made = message_of([1.0, 1.1, 0.9, -1e-12, 1e-12, 1e20, -1e25, 1e-300])
    assert list(made.bucket_limit) == [
        -1.7976931348623157e308,
        -9.9207756218597835e19,
        -1e-12,
        0,
        1e-12,
        1.1000000000000002e-12,
        0.83386035367252354,
        0.917246389039776,
        1.0089710279437536,
        1.1098681307381291,
        9.9207756218597835e19,
        1.7976931348623157e308,
    ]
    assert list(made.bucket) == [0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1]
    assert (made.min, made.max, made.num) == (-1e25, 1e20, 8)


@given(NUMBERS)
def test_every_value_is_below_the_limit_of_its_bucket(values):
    made = message_of(values)
    below = [sum(value < limit for value in values) for limit in made.bucket_limit]
    assert np.cumsum(made.bucket).tolist() == below
    assert made.num == len(values)
    assert made.sum == pytest.approx(sum(values), rel=1e-9, abs=1e-9 * max([abs(v) for v in values], default=0))


def test_the_largest_number_has_a_bucket():
    assert message_of([np.finfo(np.float64).max]).bucket[-1] == 1


RECORDED = [  # TensorFlow 2.21 with TensorBoard 2.21
    ([1.0, 2.0, 3.0, 4.0], 3, [[1, 2, 1], [2, 3, 1], [3, 4, 2]]),
    ([1.0, 1.0], 2, [[1, 1, 0], [1, 1, 2]]),
    ([], 2, [[0, 0, 0], [0, 0, 0]]),
    ([1.0, 2.0], 0, []),
    ([1.0, 2.0], -1, []),
    ([1.0, NAN, 2.0], 2, [[NAN, NAN, 0], [NAN, NAN, 0]]),
    ([1.0, INF, 2.0], 2, [[1, INF, 2], [INF, INF, 0]]),
]


@pytest.mark.parametrize(("values", "count", "recorded"), RECORDED)
def test_buckets_are_those_of_tensorflow(values, count, recorded):
    made = buckets_of(torch.tensor(values), count)
    np.testing.assert_equal(made.numpy(), np.array(recorded, np.float64).reshape(-1, 3))


@given(st.lists(st.integers(-1000, 1000), max_size=40), st.integers(1, 40))
def test_buckets_are_those_of_tensorboard(values, count):
    expected = tensor_util.make_ndarray(histogram_pb("tag", values, count).value[0].tensor)
    made = buckets_of(torch.tensor(values, dtype=torch.int64), count).numpy()
    np.testing.assert_allclose(made[:, :2], expected[:, :2], rtol=1e-9, atol=1e-9)
    assert made[:, 2].tolist() == expected[:, 2].tolist()


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.uint16, torch.bfloat16, torch.float16, torch.int32])
def test_numbers_of_every_kind_have_buckets(dtype):
    made = buckets_of(torch.tensor([0, 1, 1]).to(dtype), 2)
    assert made.tolist() == [[0, 0.5, 1], [0.5, 1, 2]]
