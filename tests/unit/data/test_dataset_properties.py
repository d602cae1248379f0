"""Random pipelines against the same steps on Python lists."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from situs.data import Dataset

Step = tuple[str, Callable[[Any], Any], Callable[[list[Any]], list[Any]]]
small = st.integers(0, 6)
positive = st.integers(1, 5)


def take(n: int) -> Step:
    return f"take({n})", lambda ds: ds.take(n), lambda items: items[:n]


def skip(n: int) -> Step:
    return f"skip({n})", lambda ds: ds.skip(n), lambda items: items[n:]


def repeat(n: int) -> Step:
    return f"repeat({n})", lambda ds: ds.repeat(n), lambda items: items * n


def shard(n: int, i: int) -> Step:
    return f"shard({n}, {i % n})", lambda ds: ds.shard(n, i % n), lambda items: items[i % n :: n]


def double(calls: int | None) -> Step:
    return f"map({calls})", lambda ds: ds.map(lambda x: x * 2, calls), lambda items: [2 * item for item in items]


def multiples(n: int) -> Step:
    return (
        f"filter({n})",
        lambda ds: ds.filter(lambda x: x % n == 0),
        lambda items: [item for item in items if item % n == 0],
    )


def prefetch(n: int) -> Step:
    return f"prefetch({n})", lambda ds: ds.prefetch(n), lambda items: items


def cache() -> Step:
    return "cache()", lambda ds: ds.cache(), lambda items: items


def spread(n: int) -> Step:
    return (
        f"flat_map({n})",
        lambda ds: ds.flat_map(lambda x: Dataset.range(n).map(lambda y: x + y)),
        lambda items: [item + y for item in items for y in range(n)],
    )


def window(n: int) -> Step:
    return f"window({n})", lambda ds: ds.window(n).flat_map(lambda w: w.batch(9).unbatch()), lambda items: items


def batch(n: int) -> Step:
    return f"batch({n})", lambda ds: ds.batch(n).unbatch(), lambda items: items


def dropped(n: int) -> Step:
    return f"batch({n}, True)", lambda ds: ds.batch(n, True).unbatch(), lambda items: items[: len(items) // n * n]


def concatenated(n: int) -> Step:
    return f"concatenate({n})", lambda ds: ds.concatenate(Dataset.range(n)), lambda items: items + list(range(n))


def numbered() -> Step:
    return (
        "enumerate()",
        lambda ds: ds.enumerate().map(lambda i, x: i + x),
        lambda items: [i + item for i, item in enumerate(items)],
    )


steps = st.one_of(
    small.map(take),
    small.map(skip),
    st.integers(0, 3).map(repeat),
    st.tuples(positive, small).map(lambda pair: shard(*pair)),
    st.sampled_from([None, 2, -1]).map(double),
    positive.map(multiples),
    positive.map(prefetch),
    st.builds(cache),
    st.integers(0, 3).map(spread),
    positive.map(window),
    positive.map(batch),
    positive.map(dropped),
    small.map(concatenated),
    st.builds(numbered),
)


@given(st.integers(0, 12), st.lists(steps, max_size=5))
def test_a_pipeline_does_what_its_steps_do_to_a_list(count, chosen):
    ds, items = Dataset.range(count), list(range(count))
    for _, on_dataset, on_list in chosen:
        ds, items = on_dataset(ds), on_list(items)
    for _ in range(2):
        assert [int(x) for x in ds] == items
    number = int(ds.cardinality())
    assert number in (len(items), -2)


@given(st.integers(0, 30), st.integers(1, 40), st.integers(0, 5), st.lists(steps, max_size=3))
def test_shuffling_loses_nothing_and_repeats_itself(count, size, seed, chosen):
    ds, items = Dataset.range(count), list(range(count))
    for _, on_dataset, on_list in chosen:
        ds, items = on_dataset(ds), on_list(items)
    orders = [[int(x) for x in ds.shuffle(size, seed=seed)] for _ in range(2)]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(items)


@given(st.lists(st.integers(0, 4), max_size=5), positive, positive, st.booleans())
def test_interleaving_gives_each_dataset_in_order(lengths, cycle, block, parallel):
    source = Dataset.from_tensor_slices((np.arange(len(lengths)), np.array(lengths, np.int64)))
    ds = source.interleave(
        lambda i, n: Dataset.range(n).map(lambda k: (i, k)), cycle, block, num_parallel_calls=2 if parallel else None
    )
    made = [(int(i), int(k)) for i, k in ds]
    assert sorted(made) == [(i, k) for i, n in enumerate(lengths) for k in range(n)]
    for _, group in itertools.groupby(sorted(made, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        numbers = [k for _, k in group]
        assert numbers == sorted(numbers)
