"""Embedding lookups: rows of one table or of shards of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.ops.constant import constant
from situs._src.ops.nn.embedding import embedding_lookup, embedding_lookup_v1
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

TABLE = np.arange(22, dtype=np.float32).reshape(11, 2)


@pytest.mark.parametrize("ids", [[0, 10], [[0, 10], [1, 1]], 3, np.zeros((0,), np.int32), np.array([5], np.int64)])
def test_rows_are_looked_up(on_device, ids):
    result = embedding_lookup(TABLE, ids)
    np.testing.assert_array_equal(result.numpy(), TABLE[np.asarray(ids)])
    assert result.device == on_device
    np.testing.assert_array_equal(embedding_lookup([TABLE], ids).numpy(), result.numpy())


@given(st.integers(1, 5), st.lists(st.integers(0, 10), min_size=1, max_size=6))
def test_shards_are_looked_up_as_one_table(count, ids):
    expected = TABLE[ids]
    cut, dealt = np.array_split(TABLE, count), [TABLE[i::count] for i in range(count)]
    np.testing.assert_array_equal(embedding_lookup(cut, ids).numpy(), expected)
    np.testing.assert_array_equal(embedding_lookup_v1(cut, ids, "div").numpy(), expected)
    np.testing.assert_array_equal(embedding_lookup_v1(dealt, ids).numpy(), expected)


def test_shards_may_hold_anything_and_few_rows(on_device):
    table = np.arange(12).reshape(3, 2, 2)
    for count in (2, 3, 5):
        cut = np.array_split(table, count)
        np.testing.assert_array_equal(embedding_lookup(cut, [[2, 0]]).numpy(), table[[[2, 0]]])
    numbers = np.arange(5, dtype=np.int64)
    np.testing.assert_array_equal(embedding_lookup(np.array_split(numbers, 2), [4, 1]).numpy(), [4, 1])


def test_shards_may_live_on_different_devices():
    shards = []
    for number, rows in enumerate(np.array_split(TABLE, 3)):
        with scope.device(f"/gpu:{number}"):
            shards.append(constant(rows))
    np.testing.assert_array_equal(embedding_lookup(shards, [10, 0, 5]).numpy(), TABLE[[10, 0, 5]])


@pytest.mark.parametrize("shards", [TABLE, np.array_split(TABLE, 2)], ids=["table", "shards"])
@pytest.mark.parametrize("ids", [[0, 5], [[0], [5]]], ids=str)
def test_long_rows_are_scaled_down(on_device, shards, ids):
    rows = TABLE[np.array(ids)]
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    found = embedding_lookup(shards, ids, max_norm=2.0).numpy()
    np.testing.assert_allclose(found, rows * 2 / np.maximum(length, 2), rtol=1e-6)


def test_a_row_of_zeros_stays_one(on_device):
    np.testing.assert_array_equal(
        embedding_lookup(np.zeros((2, 3), np.float32), [1], max_norm=1.0).numpy(), [[0, 0, 0]]
    )


@pytest.mark.parametrize("number", [11, -1, 2**31 - 1])
@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_ids_outside_the_table_are_refused_on_the_cpu(count, strategy, number):
    shards = np.array_split(TABLE, count) if strategy == "div" else [TABLE[i::count] for i in range(count)]
    with scope.device("/cpu:0"), pytest.raises(InvalidArgumentError, match="is not in"):
        embedding_lookup_v1(shards, [0, number], strategy)


def test_wrong_calls_are_refused(on_device):
    for arguments, text in (
        ((None, [0]), "params must be specified"),
        (([], [0]), "Need at least one param"),
        ((TABLE, [0], "round-robin"), "Unrecognized partition strategy: round-robin"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            embedding_lookup_v1(*arguments)
    for ids in ([0.0], np.array([True])):
        with pytest.raises(DTypeError, match="'Tindices'"):
            embedding_lookup(TABLE, ids)


def test_the_dtype_of_the_table_stays(on_device):
    for dtype in (dt.float16, dt.bfloat16, dt.float64, dt.int32):
        table = to_tensor(np.arange(6).reshape(3, 2), dtype)
        assert embedding_lookup(table, [1]).dtype is dtype
        assert embedding_lookup([table, table], [1]).dtype is dtype
