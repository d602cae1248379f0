"""What TensorFlow 1's tutorials shared: MNIST's digits, and texts as numbers of words."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.v1.tutorials import input_data, mnist
from tests.unit.test_as_tensorflow import situs_run

TRAIN, TEST = 30, 8


@pytest.fixture
def folder(tmp_path):
    """The four files, with few digits in them; pixel 0 of each says which one it is."""
    random = np.random.default_rng(0)
    for name, count in (("train", TRAIN), ("t10k", TEST)):
        images = random.integers(0, 256, [count, 28, 28], np.uint8)
        images[:, 0, 0] = np.arange(count)
        labels = (np.arange(count) % 10).astype(np.uint8)
        head = struct.pack(">IIII", 2051, count, 28, 28)
        (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes()))
        head = struct.pack(">II", 2049, count)
        (tmp_path / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(head + labels.tobytes()))
    return tmp_path


def _numbers(images):
    return np.rint(images[:, 0] * 255).astype(int).tolist()


def test_digits_are_read_as_the_program_wants_them(folder, capsys):
    data = input_data.read_data_sets(folder, one_hot=True, validation_size=10)
    assert [each.num_examples for each in data] == [TRAIN - 10, 10, TEST]
    assert (data.train.images.shape, data.train.images.dtype) == ((20, 784), np.float32)
    assert _numbers(data.validation.images) == list(range(10))
    np.testing.assert_array_equal(data.test.labels, np.eye(10)[np.arange(TEST) % 10])
    assert capsys.readouterr().out.splitlines()[0] == f"Extracting {folder}/train-images-idx3-ubyte.gz"
    plain = input_data.read_data_sets(folder, dtype=tf.uint8, reshape=False, validation_size=0).train
    assert (plain.images.shape, plain.images.dtype) == ((TRAIN, 28, 28, 1), np.uint8)
    assert plain.labels.tolist() == [number % 10 for number in range(TRAIN)]


def test_batches_come_in_the_order_of_numpys_generator_and_go_on_over_the_end_of_an_epoch(folder):
    with v1.Graph().as_default():
        v1.set_random_seed(5)  # which is what TensorFlow seeds NumPy's generator with
        train = input_data.read_data_sets(folder, validation_size=0).train
    found = [_numbers(train.next_batch(12)[0]) for _ in range(3)]
    np.random.seed(5)
    order = np.arange(TRAIN)
    np.random.shuffle(order)
    again = np.arange(TRAIN)
    np.random.shuffle(again)
    assert found == [order[:12].tolist(), order[12:24].tolist(), [*order[24:], *order[again][:6]]]
    assert train.epochs_completed == 1
    straight = input_data.read_data_sets(folder, validation_size=0, seed=3).train
    images, labels = straight.next_batch(40, shuffle=False)
    assert _numbers(images) == [*range(TRAIN), *range(10)]
    assert len(labels) == 40


def test_made_up_digits_need_no_file(tmp_path):
    images, labels = input_data.read_data_sets(tmp_path / "none", fake_data=True, one_hot=True).train.next_batch(2)
    assert (np.shape(images), labels) == ((2, 784), [[1] + [0] * 9] * 2)


def test_what_cannot_be_read_is_told(folder, tmp_path):
    away = tmp_path / "away"
    with pytest.raises(tf.errors.NotFoundError, match="Put the four files of MNIST"):
        input_data.read_data_sets(away, source_url=f"file://{tmp_path}/nothing/")
    assert not away.exists()
    with pytest.raises(ValueError, match="Validation size should be between 0 and 30"):
        input_data.read_data_sets(folder, validation_size=31)
    with pytest.raises(TypeError, match="Invalid image dtype float64"):
        input_data.read_data_sets(folder, dtype=tf.float64, validation_size=0)
    labels = folder / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(struct.pack(">II", 2049, 99) + b"\0"))
    with pytest.raises(tf.errors.DataLossError, match="ends early"):
        input_data.read_data_sets(folder)
    labels.write_bytes(gzip.compress(b"\0" * 8))
    with pytest.raises(tf.errors.DataLossError, match="Invalid magic number 0 in MNIST label file"):
        input_data.read_data_sets(folder)


def test_files_that_are_missing_are_fetched(folder, tmp_path):
    new = tmp_path / "new"
    data = input_data.read_data_sets(new, validation_size=0, source_url=f"file://{folder}/")
    assert data.train.num_examples == TRAIN
    assert sorted(path.name for path in new.iterdir()) == sorted(path.name for path in folder.glob("*.gz"))


def test_a_program_imports_them_as_it_always_did(folder):
    program = """
from tensorflow.examples.tutorials.mnist import input_data
import tensorflow.examples.tutorials.mnist.input_data as another
from tensorflow.examples.tutorials.mnist import mnist
from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets
from tensorflow.contrib import learn
from tensorflow.contrib.tensorboard.plugins import projector
from tensorflow.contrib import distributions, slim
import tensorflow.contrib.keras as kr
import tensorflow as tf
assert distributions.Normal is tf.contrib.distributions.Normal is tf.distributions.Normal
assert slim.convolution2d is slim.conv2d
projector.visualize_embeddings(tf.summary.FileWriter("."), projector.ProjectorConfig())
assert read_data_sets is another.read_data_sets is input_data.read_data_sets
assert tf.contrib.learn.datasets.mnist is tf.examples.tutorials.mnist.input_data
assert tf.contrib.keras.layers.Dense is kr.layers.Dense
print(input_data.read_data_sets(".", validation_size=5).train.num_examples, mnist.IMAGE_PIXELS, learn.ModeKeys.TRAIN)
"""
    status, out, errors = situs_run(folder, program)
    assert (status, out.splitlines()[-1]) == (0, "25 784 train"), errors


def test_the_network_of_the_tutorial_learns(folder):
    train = input_data.read_data_sets(folder, validation_size=0).train
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        images, labels = v1.placeholder(tf.float32, [None, 784]), v1.placeholder(tf.int32, [None])
        logits = mnist.inference(images, 32, 16)
        loss = mnist.loss(logits, labels)
        step, right = mnist.training(loss, 0.1), mnist.evaluation(logits, labels)
        session.run(v1.global_variables_initializer())
        feed = {images: train.images, labels: train.labels}
        before = session.run(loss, feed)
        for _ in range(60):
            session.run(step, feed)
        after, count, steps = session.run([loss, right, v1.global_variables()[-1]], feed)
    assert after < before / 2
    assert (count > TRAIN / 2, steps) == (True, 60)


def test_texts_become_numbers_of_words(tmp_path):
    texts = ["a cat's-eye", "a dog and a cat, HTTPServer", "dog"]
    processor = v1.contrib.learn.preprocessing.VocabularyProcessor(4)
    found = np.array(list(processor.fit_transform(texts)))
    assert found.tolist() == [[1, 2, 0, 0], [1, 3, 4, 1], [3, 0, 0, 0]]
    assert len(processor.vocabulary_) == 8
    assert list(processor.reverse(found[:1])) == ["a cat's-eye <UNK> <UNK>"]
    assert next(processor.transform(["dog unheard-of Server"])).tolist() == [3, 0, 7, 0]
    processor.save(tmp_path / "vocab")
    restored = v1.contrib.learn.preprocessing.VocabularyProcessor.restore(tmp_path / "vocab")
    assert [each.tolist() for each in restored.transform(texts)] == found.tolist()
    assert restored.vocabulary_._mapping == processor.vocabulary_._mapping
    (tmp_path / "pickle").write_bytes(b"\x80\x04.")
    with pytest.raises(tf.errors.DataLossError, match="fit the vocabulary anew"):
        v1.contrib.learn.preprocessing.VocabularyProcessor.restore(tmp_path / "pickle")


def test_rare_words_have_no_number():
    processor = v1.contrib.learn.preprocessing.VocabularyProcessor(5, min_frequency=1)
    found = list(processor.fit_transform(["b a b c", "a b"]))
    assert [each.tolist() for each in found] == [[1, 2, 1, 0, 0], [2, 1, 0, 0, 0]]
