"""take, skip, shard, repeat, unique, shuffle: what goes on, and in which order."""

from __future__ import annotations

import pytest

import situs as tf
from situs import errors
from situs.data import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset

TABLE = pytest.mark.parametrize("make", [lambda n: Dataset.range(n), lambda n: Dataset.range(n).map(lambda x: x)])


@TABLE
@pytest.mark.parametrize("count", [-1, 0, 1, 3, 9])
def test_take_and_skip_are_slices(make, count, values):
    everything = list(range(5))
    taken, skipped = make(5).take(count), make(5).skip(count)
    assert values(taken) == (everything if count < 0 else everything[:count])
    assert values(skipped) == ([] if count < 0 else everything[count:])
    assert len(taken) == len(values(taken))
    assert len(skipped) == len(values(skipped))


@TABLE
@pytest.mark.parametrize(("shards", "index"), [(1, 0), (2, 0), (2, 1), (3, 2), (9, 8)])
def test_shards_are_slices(make, shards, index, values):
    ds = make(7).shard(shards, index)
    assert values(ds) == list(range(7))[index::shards]
    assert len(ds) == len(values(ds))


@TABLE
def test_repeat(make, values):
    assert values(make(2).repeat(3)) == [0, 1] * 3
    assert values(make(2).repeat(0)) == []
    assert values(make(2).repeat().take(5)) == [0, 1, 0, 1, 0]
    assert values(make(0).repeat()) == []
    assert int(make(2).repeat().cardinality()) == INFINITE_CARDINALITY
    assert len(make(2).repeat(3)) == 6


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda ds: ds.shard(0, 0), "Number of shards must be greater than zero"),
        (lambda ds: ds.shard(2, 2), r"Index must be between 0 and 1 \(currently index = 2\)"),
        (lambda ds: ds.shard(2, -1), "Index must be between 0 and 1"),
        (lambda ds: ds.shuffle(0), "buffer_size must be greater than zero"),
        (lambda ds: ds.shuffle(-1), "buffer_size must be greater than zero"),
        (lambda ds: ds.window(0), "Window size must be greater than zero"),
    ],
)
def test_numbers_out_of_range_are_refused(make, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        make(Dataset.range(3))


@pytest.mark.parametrize("method", ["take", "skip", "repeat", "shuffle", "batch", "prefetch", "window"])
@pytest.mark.parametrize("number", [1.5, "two", [1, 2]])
def test_numbers_of_the_wrong_kind_are_refused(method, number):
    with pytest.raises(TypeError, match="Expected int for argument"):
        getattr(Dataset.range(3), method)(number)


def test_unique(values):
    assert values(Dataset.from_tensor_slices([3, 1, 3, 2, 1]).unique()) == [3, 1, 2]
    assert values(Dataset.from_tensor_slices(["b", "a", "b"]).unique()) == [b"b", b"a"]
    with pytest.raises(TypeError, match=r"does not support type tf\.float32"):
        Dataset.from_tensor_slices([1.0]).unique()
    with pytest.raises(ValueError, match="single component"):
        Dataset.zip((Dataset.range(2), Dataset.range(2))).unique()


def test_ignore_errors(values, caplog):
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
    assert values(ds.ignore_errors(log_warning=True)) == [1.0, 0.5]
    assert "was left out" in caplog.text


# Shuffling.


@TABLE
@pytest.mark.parametrize("size", [1, 2, 5, 100, UNKNOWN_CARDINALITY])
def test_a_shuffled_dataset_has_everything_once(make, size, values):
    ds = make(20).shuffle(size, seed=3)
    assert sorted(values(ds)) == list(range(20))
    assert len(ds) == 20


def test_a_buffer_of_one_keeps_the_order(values):
    assert values(Dataset.range(9).shuffle(1)) == list(range(9))


def test_an_element_comes_at_most_a_buffer_too_early(values):
    for position, number in enumerate(values(Dataset.range(500).shuffle(20, seed=1))):
        assert number <= position + 19


def test_the_order_is_the_same_for_numbers_of_rows_and_for_elements(values):
    seeded = {"buffer_size": 7, "seed": 5}
    assert values(Dataset.range(50).shuffle(**seeded)) == values(Dataset.range(50).map(lambda x: x).shuffle(**seeded))


def test_a_seed_gives_the_same_order_in_every_program(values):
    """Recorded with TensorFlow: the order may not change with the version, the machine or Python."""
    assert values(Dataset.range(10).shuffle(10, seed=42)) == [5, 9, 6, 4, 7, 1, 2, 8, 3, 0]
    assert values(Dataset.range(10).shuffle(4, seed=42)) == [1, 4, 2, 3, 5, 0, 6, 8, 7, 9]


def test_each_iteration_has_its_own_order_unless_it_is_not_to(values):
    ds = Dataset.range(30).shuffle(30, seed=1)
    first, second = values(ds), values(ds)
    assert first != second
    again = Dataset.range(30).shuffle(30, seed=1)
    assert [values(again), values(again)] == [first, second]
    repeated = values(Dataset.range(30).shuffle(30, seed=1).repeat(2))
    assert repeated == first + second
    same = Dataset.range(30).shuffle(30, seed=1, reshuffle_each_iteration=False)
    assert values(same) == values(same) != first
    unseeded = Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)
    assert values(unseeded) == values(unseeded)


def test_without_seeds_two_datasets_differ(values):
    assert values(Dataset.range(50).shuffle(50)) != values(Dataset.range(50).shuffle(50))


def test_the_global_seed_makes_unseeded_orders_the_same(values):
    made = []
    for _ in range(2):
        tf.random.set_seed(7)
        made.append([values(Dataset.range(30).shuffle(30)), values(Dataset.range(30).shuffle(30))])
    tf.random.set_seed(None)
    assert made[0] == made[1]
    assert made[0][0] != made[0][1]


def test_a_uniform_order_is_uniform(values):
    """Where the first element goes, over many orders: each place about as often."""
    counts = [0] * 5
    for seed in range(500):
        counts[values(Dataset.range(5).shuffle(5, seed=seed)).index(0)] += 1
    assert min(counts) > 60


# Recorded from TensorFlow 2.21, with tf.random.set_seed(1).
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda ds: ds.repeat(4).map(lambda x: x), [[3, 1, 0], [2, 0, 1], [3, 2, 1], [2, 1, 3]]),
        (lambda ds: ds.repeat().map(lambda x: x), [[3, 1, 0], [2, 0, 1], [3, 2, 1], [2, 1, 3]]),
        (lambda ds: ds.repeat(4).filter(lambda x: x >= 0), [[3, 1, 0], [2, 0, 1], [3, 2, 1], [2, 1, 3]]),
        (
            lambda ds: Dataset.choose_from_datasets(
                [Dataset.range(4), Dataset.range(100, 104)], Dataset.range(2).shuffle(2, seed=7).repeat(5)
            ),
            [[100, 0, 1], [100, 0, 1], [100, 0, 1], [0, 100, 101]],
        ),
    ],
)
def test_a_round_begins_no_earlier_than_it_is_needed(make, expected, values):
    tf.random.set_seed(1)
    ds = make(Dataset.range(4).shuffle(4, seed=7)).take(3)
    assert [values(ds) for _ in range(4)] == expected


def test_choosing_ends_with_the_last_of_the_datasets(values):
    """What TensorFlow 2.21 gives: choices that are left over begin no other round of what is shuffled."""
    tf.random.set_seed(1)
    choices = Dataset.range(2).shuffle(2, seed=7).repeat(9)
    ds = Dataset.choose_from_datasets([Dataset.range(4), Dataset.range(100, 104)], choices, stop_on_empty_dataset=False)
    assert [values(ds.map(lambda x: x)) for _ in range(3)] == [
        [100, 0, 1, 101, 102, 2, 3, 103],
        [0, 100, 1, 101, 102, 2, 3, 103],
        [0, 100, 1, 101, 102, 2, 3, 103],
    ]


def test_rounds_that_tensorflow_counts(values):
    """What TensorFlow 2.21 gives: one round alone is no repetition, and choices begin before what they choose from."""
    tf.random.set_seed(1)
    once = Dataset.range(4).shuffle(4, seed=7).batch(1).repeat(1).map(lambda x: x[0] + 1)
    assert [values(once) for _ in range(3)] == [[4, 2, 1, 3], [3, 1, 2, 4], [4, 3, 2, 1]]
    ds = Dataset.range(14).shuffle(26, seed=3)
    ds = ds.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], seed=1).map(lambda c, x: x)
    assert values(ds) == [10, 6, 1, 5, 8, 3, 9, 12, 0, 4, 11, 7, 13, 2]
