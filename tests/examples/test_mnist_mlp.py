"""``examples/mnist_mlp.py``: learns in both styles, goes on from its checkpoints, reads MNIST's files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.examples.conftest import LoadExample, RunExample, devices, numbers

STYLES = ["eager", "graph"]


@pytest.mark.parametrize("style", STYLES)
def test_learns_the_digits_and_goes_on_from_a_checkpoint(style: str, run_example: RunExample, tmp_path: Path):
    args = ("--style", style, "--steps", 150, "--hidden", 128, "--checkpoints", tmp_path)
    first = run_example("mnist_mlp.py", *args)
    assert numbers("accuracy", first)[0] > 0.75
    assert numbers("step", first) == [100, 150]
    second = run_example("mnist_mlp.py", *args)
    assert f"going on from {tmp_path}" in second
    assert numbers("step", second) == [250, 300]
    assert numbers("accuracy", second)[0] > max(0.9, numbers("accuracy", first)[0])
    assert numbers("loss", second)[-1] < numbers("loss", first)[-1]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("gpus", "expected"), [(0, {"CPU:0"}), (1, {"CPU:0", "GPU:0"}), (3, {"CPU:0", "GPU:0", "GPU:1", "GPU:2"})]
)
def test_layers_are_spread_over_the_gpus(style: str, gpus: int, expected: set[str], run_example: RunExample):
    printed = run_example("mnist_mlp.py", "--style", style, "--steps", 2, "--hidden", 16, "--gpus", gpus)
    assert devices(printed) == expected


def write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_idx_file_is_read_compressed_or_not(ending: str, load_example: LoadExample, tmp_path: Path):
    array = np.random.default_rng(0).integers(0, 256, (3, 4, 5))
    write_idx(tmp_path / f"array-ubyte{ending}", array)
    read = load_example("mnist_mlp.py").read_idx(tmp_path / "array-ubyte")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == np.uint8


@pytest.mark.parametrize("content", [b"", b"\0\0\x0d\x01\0\0\0\0", b"\x89PNG"])
def test_what_is_no_idx_file_of_bytes_is_refused(content: bytes, load_example: LoadExample, tmp_path: Path):
    (tmp_path / "wrong").write_bytes(content)
    with pytest.raises(SystemExit, match="is not a file of MNIST"):
        load_example("mnist_mlp.py").read_idx(tmp_path / "wrong")


@pytest.mark.parametrize("style", STYLES)
def test_files_of_mnist_are_learned(style: str, load_example: LoadExample, run_example: RunExample, tmp_path: Path):
    example = load_example("mnist_mlp.py")
    for name, count, ending in ("train", 500, ".gz"), ("t10k", 100, ""):
        images, labels = example.draw_digits(count, seed=count)
        write_idx(tmp_path / f"{name}-images-idx3-ubyte{ending}", images)
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte{ending}", labels)
    printed = run_example("mnist_mlp.py", "--style", style, "--data", tmp_path, "--steps", 150, "--hidden", 64)
    assert numbers("accuracy", printed)[0] > 0.5


def test_drawn_digits_are_the_same_every_time_and_all_kinds_of_them(load_example: LoadExample):
    example = load_example("mnist_mlp.py")
    images, labels = example.draw_digits(200, seed=3)
    again, _ = example.draw_digits(200, seed=3)
    np.testing.assert_array_equal(images, again)
    assert images.shape == (200, 28, 28)
    assert set(labels) == set(range(10))
