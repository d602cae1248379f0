"""Caches: made once, read again; files that are whole or not there, and found out where they are damaged."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs._src.data.cache_file import SUFFIX
from situs.data import Dataset


@pytest.fixture
def counted():
    """A dataset, and how many of its elements were made."""
    made = tf.Variable(0)
    return Dataset.range(4).map(lambda x: [made.assign_add(1), x * 2][1]), made


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    return "" if request.param == "memory" else str(tmp_path / "cache")


def test_elements_are_made_once(counted, place, values):
    ds, made = counted
    cached = ds.cache(place)
    assert values(cached) == values(cached) == values(cached.take(9)) == [0, 2, 4, 6]
    assert int(made) == 4
    assert values(cached.repeat(2)) == [0, 2, 4, 6] * 2
    assert int(made) == 4
    assert len(cached) == 4


def test_an_iteration_that_is_given_up_leaves_nothing(counted, place, values):
    ds, made = counted
    cached = ds.cache(place)
    assert values(cached.take(2)) == [0, 2]
    assert values(cached) == [0, 2, 4, 6]
    assert int(made) >= 6


def test_an_iteration_with_an_error_leaves_nothing(place, values):
    ds = Dataset.from_tensor_slices([1.0, 0.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad")).cache(place)
    for _ in range(2):
        elements = iter(ds)
        next(elements)
        with pytest.raises(errors.InvalidArgumentError, match="bad"):
            next(elements)
        assert list(elements) == []


def test_a_shuffled_order_stays_when_it_is_cached(place, values):
    ds = Dataset.range(20).shuffle(20).cache(place)
    assert values(ds) == values(ds)


# Files.


ELEMENTS = {
    "numbers": np.arange(6, dtype=np.int64).reshape(3, 2),
    "words": np.array([["a", ""], ["longer", "ä"], ["x\0y", "z"]]),
    "flags": np.array([True, False, True]),
    "half": np.array([1.5, -0.0, np.inf], np.float16),
    "nothing": np.zeros((3, 0), np.float32),
}


def test_every_dtype_survives(tmp_path):
    ds = Dataset.from_tensor_slices(ELEMENTS).cache(str(tmp_path / "c"))
    first, second = list(ds.as_numpy_iterator()), list(ds.as_numpy_iterator())
    for one, other in zip(first, second, strict=True):
        for name in ELEMENTS:
            np.testing.assert_array_equal(one[name], other[name])
            assert np.asarray(one[name]).dtype == np.asarray(other[name]).dtype
    wide = Dataset.from_tensors(tf.constant([1.5, 2.5], tf.bfloat16)).cache(str(tmp_path / "b"))
    assert [next(iter(wide)).numpy().tolist() for _ in range(2)] == [[1.5, 2.5]] * 2


def test_another_program_reads_it(tmp_path, run_python, counted, values):
    program = (
        "import sys, situs.data\n"
        "def show(x):\n"
        "    print('made', flush=True)\n"
        "    return x\n"
        "ds = situs.data.Dataset.range(2).map(lambda x: situs.numpy_function(show, [x], 'int64'))\n"
        f"print([int(x) for x in ds.cache({str(tmp_path / 'c')!r})])\n"
    )
    assert run_python(program) == "made\nmade\n[0, 1]\n"
    assert run_python(program) == "[0, 1]\n"


def test_there_is_no_file_before_it_is_complete(tmp_path):
    elements = iter(Dataset.range(3).cache(str(tmp_path / "c")))
    next(elements)
    assert not (tmp_path / f"c{SUFFIX}").exists()
    assert len(list(tmp_path.iterdir())) == 1
    del elements
    assert list(tmp_path.iterdir()) == []


def test_two_iterations_that_write_do_not_disturb_each_other(tmp_path, values):
    ds = Dataset.range(3).cache(str(tmp_path / "c"))
    one, other = iter(ds), iter(ds)
    assert [int(x) for pair in zip(one, other, strict=True) for x in pair] == [0, 0, 1, 1, 2, 2]
    assert values(ds) == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == [f"c{SUFFIX}"]


def test_a_file_of_another_dataset_is_refused(tmp_path, values):
    values(Dataset.range(3).cache(str(tmp_path / "c")))
    with pytest.raises(errors.InvalidArgumentError, match="holds other elements"):
        values(Dataset.from_tensors("a").cache(str(tmp_path / "c")))


@pytest.fixture
def written(tmp_path, values):
    """A cache, and the bytes of its file."""
    ds = Dataset.from_tensor_slices((np.arange(3), ["a", "bc", "d"])).cache(str(tmp_path / "c"))
    values(ds)
    path = tmp_path / f"c{SUFFIX}"
    return ds, path, path.read_bytes()


def test_every_cut_is_found_out(written, values):
    ds, path, content = written
    for length in range(0, len(content), 3):
        path.write_bytes(content[:length])
        with pytest.raises((errors.DataLossError, errors.InvalidArgumentError), match="cache"):
            values(ds)


def test_every_changed_byte_is_found_out(written, values):
    ds, path, content = written
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises((errors.DataLossError, errors.InvalidArgumentError), match="cache"):
            values(ds)


def test_huge_numbers_in_a_file_take_no_memory(written, values):
    """A hostile file that says an element has an exabyte."""
    ds, path, content = written
    header_end = content.index(b"}") + 1
    for hostile in (b"\x01" + b"\xff" * 7 + b"\x0f" + b"\0" * 4, b"\x01" + b"\xff" * 12):
        path.write_bytes(content[:header_end] + hostile)
        with pytest.raises(errors.DataLossError, match="damaged"):
            values(ds)
    path.write_bytes(content[: len(b"situs dataset 1\n")] + b"\xff\xff\xff\xff")
    with pytest.raises(errors.InvalidArgumentError, match="other elements"):
        values(ds)


def test_random_bytes_are_no_cache(written, values):
    ds, path, _ = written
    random = np.random.default_rng(0)
    for _ in range(50):
        path.write_bytes(random.bytes(200))
        with pytest.raises(errors.DataLossError, match="does not begin"):
            values(ds)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, values):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(errors.PermissionDeniedError):
            values(Dataset.range(3).cache(str(tmp_path / "c")))
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda ds, path: ds.cache(3), TypeError, "is a path"),
        (lambda ds, path: ds.window(2).cache(path), ValueError, "flat_map"),
        (lambda ds, path: ds.cache("gs://bucket/x"), NotImplementedError, "scheme"),
    ],
)
def test_what_cannot_be_cached_is_refused(make, error, text, tmp_path):
    with pytest.raises(error, match=text):
        make(Dataset.range(3), str(tmp_path / "c"))


def test_a_full_disk_is_an_error_of_ours_and_leaves_nothing(tmp_path, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.ResourceExhaustedError, match=r"train\.dataset; No space left"):
        list(Dataset.range(3).cache(str(tmp_path / "train")))
    assert list(tmp_path.iterdir()) == []
