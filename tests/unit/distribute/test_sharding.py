"""``AutoShardPolicy``: which files of a dataset a worker reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import situs as tf
from situs._src.distribute.sharding import of_worker

Make = Callable[[list[str], str], Any]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Four files, each with two lines that say which it is."""
    found = []
    for number in range(4):
        path = tmp_path / f"file{number}.txt"
        path.write_text(f"{number}a\n{number}b\n")
        found.append(str(path))
    return found


def with_policy(dataset: Any, policy: str) -> Any:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(tf.data.experimental.AutoShardPolicy, policy)
    return dataset.with_options(options)


def lines(dataset: Any) -> list[str]:
    return [line.decode() for line in dataset.as_numpy_iterator()]


MAKERS: dict[str, Make] = {
    "a reader of files": lambda files, folder: tf.data.TextLineDataset(files),
    "readers that take turns": lambda files, folder: tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda name: tf.data.TextLineDataset(name).map(lambda line: line)
    ),
    "one reader after another": lambda files, folder: tf.data.Dataset.from_tensor_slices(files).flat_map(
        tf.data.TextLineDataset
    ),
    "files that are listed": lambda files, folder: tf.data.Dataset.list_files(f"{folder}/*.txt").interleave(
        tf.data.TextLineDataset
    ),
    "two readers": lambda files, folder: tf.data.TextLineDataset(files[:2]).concatenate(
        tf.data.TextLineDataset(files[2:])
    ),
    "names that every worker shuffles in its own way": lambda files, folder: (
        tf.data.Dataset.from_tensor_slices(files).shuffle(4).repeat(1).interleave(tf.data.TextLineDataset)
    ),
}


@pytest.mark.parametrize("policy", ["FILE", "AUTO"])
@pytest.mark.parametrize("what", MAKERS)
def test_every_file_is_read_by_one_worker(files: list[str], tmp_path: Path, what: str, policy: str) -> None:
    dataset = with_policy(MAKERS[what](files, str(tmp_path)), policy)
    found = [of_worker(dataset, 2, worker) for worker in range(2)]
    assert all(each is not None for each in found)
    assert [sorted(lines(each)) for each in found] == [["0a", "0b", "2a", "2b"], ["1a", "1b", "3a", "3b"]]


def test_with_fewer_files_than_workers_auto_takes_parts_of_batches(files: list[str]) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(files[:1]).interleave(tf.data.TextLineDataset).batch(2)
    assert of_worker(with_policy(dataset, "AUTO"), 2, 0) is None
    with pytest.raises(ValueError, match=r"among 2 workers, and this one reads 1 file\. Use AutoShardPolicy\.DATA"):
        of_worker(with_policy(dataset, "FILE"), 2, 0)


def test_without_files_auto_takes_parts_of_batches() -> None:
    assert of_worker(with_policy(tf.data.Dataset.range(8), "AUTO"), 2, 0) is None
    with pytest.raises(ValueError, match="reads no files"):
        of_worker(with_policy(tf.data.Dataset.range(8), "FILE"), 2, 0)


def test_off_and_data(files: list[str]) -> None:
    dataset = tf.data.TextLineDataset(files)
    whole = of_worker(with_policy(dataset, "OFF"), 2, 1)
    assert whole is not None
    assert len(lines(whole)) == 8
    assert of_worker(with_policy(dataset, "DATA"), 2, 1) is None
