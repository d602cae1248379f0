"""Graphs with datasets, written down and read again; positions of iterators of graphs, saved by a Saver."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset

v1 = tf.compat.v1
experimental = tf.data.experimental


def options():
    made = tf.data.Options()
    made.deterministic = True
    made.experimental_external_state_policy = experimental.ExternalStatePolicy.IGNORE
    made.threading.private_threadpool_size = 3
    return made


def captured():
    offset = tf.constant(5, tf.int64)
    return Dataset.range(3).flat_map(
        lambda x: Dataset.range(x).flat_map(lambda y: Dataset.from_tensors(x * 10 + y + offset))
    )


def numbered(name):
    return Dataset.from_tensor_slices([f"{name}", f"{name}"])


DATASETS = {
    "range": lambda: Dataset.range(2, 9, 3, output_type=tf.int32),
    "tensors": lambda: Dataset.from_tensors((np.float32(1.5), {"a": [1, 2], "b": ["x", "y"]})),
    "slices": lambda: Dataset.from_tensor_slices({"a": [1, 2], "b": [b"x", b"\xff"]}),
    "map": lambda: Dataset.range(6).map(lambda x: (x, x * 2)).filter(lambda x, y: y > 2),
    "parallel map": lambda: Dataset.range(6).map(lambda x: x * 2, num_parallel_calls=2, deterministic=True),
    "branches": lambda: Dataset.range(6).map(lambda x: tf.cond(x > 2, lambda: x * 2, lambda: x)),
    "batch": lambda: Dataset.range(7).batch(3).unbatch().padded_batch(2, padded_shapes=[]),
    "padded": lambda: Dataset.range(4).map(lambda x: tf.fill([x], "a")).padded_batch(4, padding_values="?"),
    "order": lambda: Dataset.range(9).shuffle(4, seed=3).repeat(2).skip(2).take(9).shard(2, 1),
    "flat_map": captured,
    "interleave": lambda: Dataset.range(4).interleave(
        lambda x: Dataset.range(x).map(lambda y: y + x), cycle_length=2, num_parallel_calls=2
    ),
    "scan": lambda: Dataset.range(5).scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state)),
    "while": lambda: Dataset.range(5).take_while(lambda x: x < 3).enumerate(),
    "windows": lambda: Dataset.range(7).window(2, shift=1).flat_map(lambda inner: inner.batch(2)),
    "groups": lambda: Dataset.range(7).group_by_window(lambda x: x % 2, lambda key, inner: inner.batch(4), 4),
    "zip": lambda: Dataset.zip({"a": Dataset.range(3), "b": Dataset.range(3).concatenate(Dataset.range(2))}),
    "choose": lambda: Dataset.choose_from_datasets([Dataset.range(3), Dataset.range(5, 8)], Dataset.range(2).repeat(2)),
    "sample": lambda: Dataset.sample_from_datasets([Dataset.range(3), Dataset.range(5, 8)], [0.5, 0.5], seed=1),
    "nested": lambda: Dataset.from_tensors(Dataset.range(3)).flat_map(lambda inner: inner),
    "array": lambda: Dataset.from_tensor_slices([Dataset.range(2), Dataset.range(1)]).flat_map(lambda inner: inner),
    "options": lambda: Dataset.range(3).with_options(options()).prefetch(1).cache(),
    "reduce": lambda: Dataset.range(3).map(lambda x: Dataset.range(x).reduce(x, lambda state, y: state + y)),
}


def elements(sess, initializer, fetched):
    found = []
    sess.run(initializer)
    while True:
        try:
            found.append([np.asarray(value).tolist() for value in sess.run(fetched)])
        except errors.OutOfRangeError:
            return found


@pytest.mark.parametrize("name", DATASETS)
def test_a_graph_with_a_dataset_is_written_and_read_again(name):
    with tf.Graph().as_default() as graph, v1.Session() as sess:
        iterator = v1.data.make_initializable_iterator(DATASETS[name]())
        tensors = tf.nest.flatten(iterator.get_next())
        content = graph.as_graph_def().SerializeToString()
        expected = elements(sess, iterator.initializer, tensors)
        names = [tensor.name for tensor in tensors]
    assert expected
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.import_graph_def(v1.GraphDef.FromString(content), name="")
        assert elements(sess, iterator.initializer.name, names) == expected


def test_placeholders_stay_placeholders():
    with tf.Graph().as_default() as graph:
        size = v1.placeholder(tf.int64, [], "size")
        iterator = v1.data.make_initializable_iterator(Dataset.range(size).map(lambda x: x + size))
        names = [iterator.initializer.name, iterator.get_next().name]
        content = graph.as_graph_def()
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.import_graph_def(content, name="in")
        sess.run(f"in/{names[0]}", {"in/size:0": 2})
        assert [sess.run(f"in/{names[1]}") for _ in range(2)] == [2, 3]
        with pytest.raises(errors.OutOfRangeError):
            sess.run(f"in/{names[1]}")


def test_files_are_read_by_the_dataset_that_was_read(tmp_path):
    (tmp_path / "a.txt").write_text("x\ny\n")
    with tf.Graph().as_default() as graph:
        iterator = v1.data.make_one_shot_iterator(tf.data.TextLineDataset(str(tmp_path / "a.txt")))
        name = iterator.get_next().name
        content = graph.as_graph_def()
    with tf.Graph().as_default(), v1.Session() as sess:
        v1.import_graph_def(content, name="")
        assert [sess.run(name), sess.run(name)] == [b"x", b"y"]


def from_python():
    return Dataset.from_generator(lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int64))


@pytest.mark.parametrize(
    "make",
    [
        from_python,
        lambda: Dataset.range(3).map(lambda x: tf.numpy_function(np.sin, [x], tf.float64)),
        lambda: Dataset.from_tensors(namedtuple("Pair", "a b")(1, 2)),
    ],
)
def test_what_belongs_to_the_process_is_refused(make):
    with tf.Graph().as_default() as graph:
        v1.data.make_initializable_iterator(make())
        with pytest.raises(errors.InvalidArgumentError, match="cannot be written down"):
            graph.as_graph_def()


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes":[{"class":"Nothing","args":[],"kwargs":{}}]}',
        '{"nodes":[{"class":"Range","args":[{"node":7}],"kwargs":{}}]}',
        '{"nodes":[{"class":"Take","args":[{"input":3},1],"kwargs":{}}]}',
        '{"nodes":[{"class":"Range","args":[{"eval":"1"},{"dtype":"int64"}],"kwargs":{}}]}',
        '{"nodes":[]}',
        "{}",
        "[",
    ],
)
def test_damaged_descriptions_are_refused(text):
    with tf.Graph().as_default() as graph:
        v1.data.make_initializable_iterator(Dataset.range(3))
        content = graph.as_graph_def()
    (node,) = [node for node in content.node if node.op == "MakeIterator"]
    node.attr["_object:dataset:dataset"].s = text.encode()
    with tf.Graph().as_default(), pytest.raises(errors.OpError):
        v1.import_graph_def(content, name="")


# Positions.


def pipeline():
    ds = Dataset.range(10).shuffle(10, reshuffle_each_iteration=False).repeat(3)
    return ds.map(lambda x: x * 2, num_parallel_calls=2).batch(2)


def build():
    iterator = v1.data.make_initializable_iterator(pipeline())
    v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, experimental.make_saveable_from_iterator(iterator))
    return iterator, iterator.get_next(), v1.Variable(1, name="v")


@pytest.mark.parametrize("taken", [0, 1, 5, 12, 15])
@pytest.mark.parametrize("imported", [False, True])
def test_a_saver_saves_where_an_iterator_is(tmp_path, taken, imported):
    with tf.Graph().as_default(), v1.Session() as sess:
        iterator, element, v = build()
        for item in (iterator.initializer, element):
            v1.add_to_collection("parts", item)
        sess.run([iterator.initializer, v.assign(7)])
        for _ in range(taken):
            sess.run(element)
        path = v1.train.Saver().save(sess, str(tmp_path / "model"))
        rest = [sess.run(element).tolist() for _ in range(15 - taken)]
        with pytest.raises(errors.OutOfRangeError):
            sess.run(element)
    with tf.Graph().as_default(), v1.Session() as sess:
        if imported:
            saver = v1.train.import_meta_graph(f"{path}.meta")
            initializer, element = v1.get_collection("parts")
        else:
            iterator, element, _ = build()
            initializer, saver = iterator.initializer, v1.train.Saver()
        sess.run(initializer)
        saver.restore(sess, path)
        assert sess.run("v:0") == 7
        assert [sess.run(element).tolist() for _ in range(15 - taken)] == rest
        with pytest.raises(errors.OutOfRangeError):
            sess.run(element)
        sess.run(initializer)
        assert len([sess.run(element) for _ in range(15)]) == 15


def test_a_position_in_another_dataset_is_refused(tmp_path):
    def save(ds):
        iterator = v1.data.make_initializable_iterator(ds)
        return iterator, v1.train.Saver([experimental.make_saveable_from_iterator(iterator)])

    with tf.Graph().as_default(), v1.Session() as sess:
        iterator, saver = save(Dataset.range(3))
        sess.run(iterator.initializer)
        path = saver.save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), v1.Session() as sess:
        iterator, saver = save(Dataset.range(3).batch(2))
        with pytest.raises(errors.FailedPreconditionError):
            saver.restore(sess, path)
        sess.run(iterator.initializer)
        with pytest.raises(errors.InvalidArgumentError, match="another dataset"):
            saver.restore(sess, path)


def test_state_outside_of_the_dataset_is_refused_unless_the_program_says_so(tmp_path):
    for policy, fails in (
        (None, True),
        ("fail", True),
        ("warn", False),
        (experimental.ExternalStatePolicy.IGNORE, False),
    ):
        with tf.Graph().as_default(), v1.Session() as sess:
            ds = Dataset.range(3).map(lambda x: x + tf.random.uniform([], 0, 2, tf.int64))
            iterator = v1.data.make_initializable_iterator(ds)
            saver = v1.train.Saver([experimental.make_saveable_from_iterator(iterator, policy)])
            sess.run(iterator.initializer)
            if fails:
                with pytest.raises(errors.FailedPreconditionError, match="stateful"):
                    saver.save(sess, str(tmp_path / "model"))
            else:
                assert saver.save(sess, str(tmp_path / "model"))
    with pytest.raises(TypeError):
        experimental.make_saveable_from_iterator(iter(Dataset.range(3)))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="FAIL"):
        experimental.make_saveable_from_iterator(v1.data.make_initializable_iterator(Dataset.range(3)), "perhaps")
