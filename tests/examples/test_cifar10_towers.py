"""``examples/cifar10_towers.py``: towers learn together, averages are tested, CIFAR-10's files are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.examples.conftest import LoadExample, RunExample, devices, numbers


def test_two_towers_learn_the_shapes(run_example: RunExample):
    printed = run_example("cifar10_towers.py", "--gpus", 2, "--steps", 60)
    losses = numbers("loss", printed)
    assert losses[-1] < losses[0]
    assert numbers("accuracy", printed)[0] > 0.5
    assert numbers("rate", printed) == [0.01, 0.01, 0.003]
    assert devices(printed) == {"CPU:0", "GPU:0", "GPU:1"}


def test_variables_can_be_at_home_on_a_gpu(run_example: RunExample):
    printed = run_example("cifar10_towers.py", "--gpus", 2, "--home", "/gpu:1", "--steps", 2, "--batch", 4)
    on_gpu = dict(part.split(": ") for part in printed.partition("{")[2].partition("}")[0].split(", "))
    assert int(on_gpu["'GPU:1'"]) > 2 * int(on_gpu["'GPU:0'"]) > int(on_gpu["'CPU:0'"])


def test_towers_add_up_to_one_device(run_example: RunExample):
    found = [
        numbers("loss", run_example("cifar10_towers.py", "--plain", "--gpus", gpus, "--batch", batch, "--steps", 3))
        for gpus, batch in ((1, 8), (2, 4))
    ]
    assert len(found[0]) == 1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def batch_of(images: np.ndarray, labels: np.ndarray) -> bytes:
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels[:, None].astype(np.uint8), planes], axis=1).tobytes()


def test_a_binary_batch_is_read(load_example: LoadExample, tmp_path: Path):
    example = load_example("cifar10_data.py")
    images, labels = example.draw_shapes(7, seed=0)
    (tmp_path / "batch.bin").write_bytes(batch_of(images, labels))
    read_images, read_labels = example.read_batch(tmp_path / "batch.bin")
    np.testing.assert_array_equal(read_images, images)
    np.testing.assert_array_equal(read_labels, labels)


@pytest.mark.parametrize("size", [0, 3072, 3074])
def test_a_file_of_another_size_is_refused(size: int, load_example: LoadExample, tmp_path: Path):
    (tmp_path / "batch.bin").write_bytes(bytes(size))
    with pytest.raises(SystemExit, match="is not a binary batch"):
        load_example("cifar10_data.py").read_batch(tmp_path / "batch.bin")


def test_files_of_cifar_train_on_the_cpu(load_example: LoadExample, run_example: RunExample, tmp_path: Path):
    example = load_example("cifar10_data.py")
    for number, name in enumerate(["data_batch_1", "data_batch_2", "test_batch"]):
        (tmp_path / f"{name}.bin").write_bytes(batch_of(*example.draw_shapes(40, seed=number)))
    (images, labels), (tests, _) = example.load(tmp_path)
    assert images.shape == (80, 32, 32, 3)
    assert len(labels) == 80
    assert len(tests) == 40
    printed = run_example("cifar10_towers.py", "--data", tmp_path, "--gpus", 0, "--steps", 2, "--batch", 4)
    assert devices(printed) == {"CPU:0"}
    assert len(numbers("accuracy", printed)) == 1


def test_a_folder_without_batches_is_refused(run_example: RunExample, tmp_path: Path):
    assert "There is no data_batch_1.bin" in run_example("cifar10_towers.py", "--data", tmp_path, fails=True)
