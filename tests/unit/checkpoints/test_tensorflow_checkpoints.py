"""Checkpoints that TensorFlow 2.21 has written, in `tests/data/tensorflow_checkpoints`.

saver      fifteen dtypes, strings, an empty variable, two in parts, in two files, by a v1 Saver of graph variables
objects    a module with a list and a dictionary, Adam of TensorFlow 1 after one step, a generator, an iterator
keras      a Sequential model and its optimizer after two epochs
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.proto.tensor_bundle import BundleEntryProto
from situs._src.checkpoints.layout import index_path, shards_on_disk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.tensorflow_table import MAGIC, table_items
from situs._src.files.crc32c import masked_crc32c
from situs.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError, UnimplementedError
from tests.unit.checkpoints.samples import read_all

WRITTEN = Path(__file__).parents[2] / "data" / "tensorflow_checkpoints"
X = np.sin(np.arange(32.0)).reshape(8, 4).astype("float32")
Y = np.ones((8, 2), "float32")
PREDICTED = [[0.001999869477003813, 0.001999913016334176], [0.5824310779571533, 0.04043462872505188]]  # for X[:2]
LOSSES = [0.803861677646637, 0.8000109195709229]  # of the two epochs after that


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(WRITTEN, tmp_path, dirs_exist_ok=True)
    return tmp_path


class Net(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.zeros([2, 2]), name="w")
        self.parts = [tf.Variable(0.0, name="p0"), tf.Variable(0, name="p1")]
        self.named = {"x": tf.Variable("", name="x")}


# Values.


def test_values_of_every_dtype():
    values = read_all(WRITTEN / "saver-5")
    dtypes = [name.removeprefix("t/") for name in values if name.startswith("t/")]
    assert len(dtypes) == 15
    for name in dtypes:
        found, expected = values[f"t/{name}"], [[0, 1, 2], [3, 4, 100]]
        assert tf.as_dtype(found.dtype).name == name
        assert found.real.astype(int).tolist() == ([[0, 1, 1], [1, 1, 1]] if name == "bool" else expected)
    assert values["text"].tolist() == [[b"", b"a\0b"], ["ü".encode(), b"long " * 50]]
    assert values["scalar"] == 7.5
    assert values["empty"].shape == (0, 3)


def test_variables_in_parts_are_joined():
    assert tf.train.load_variable(WRITTEN / "saver-5", "parts/w").tolist() == np.arange(14.0).reshape(7, 2).tolist()
    assert tf.train.load_variable(WRITTEN / "saver-5", "columns/w").tolist() == np.arange(10.0).reshape(2, 5).tolist()


def test_what_a_checkpoint_has_is_listed():
    found = dict(tf.train.list_variables(WRITTEN / "saver-5"))
    assert len(found) == 20
    assert found["parts/w"] == [7, 2]
    reader = tf.train.load_checkpoint(WRITTEN / "saver-5")
    assert reader.has_tensor("text")
    assert not reader.has_tensor("parts")
    assert reader.get_variable_to_dtype_map()["text"] is tf.string
    with pytest.raises(NotFoundError, match="not found in checkpoint"):
        reader.get_tensor("t/floats")


def test_what_only_tensorflow_has_is_named():
    reader = tf.train.load_checkpoint(WRITTEN / "objects-1")
    with pytest.raises(UnimplementedError, match=r"iterator/.*cannot be read: it is of TensorFlow's dtype number 21"):
        reader.get_tensor("iterator/.ATTRIBUTES/ITERATOR_STATE")


# Restoring.


@pytest.mark.parametrize("resource", [True, False])
def test_a_saver_restores_by_names(resource, copied):
    (copied / "checkpoint").write_text('model_checkpoint_path: "saver-5"\nall_model_checkpoint_paths: "saver-5"\n')
    with tf1.Graph().as_default(), tf1.variable_scope("", use_resource=resource):
        whole = tf1.get_variable("t/float32", [2, 3])
        text = tf1.get_variable("text", initializer=tf.zeros([2, 2], tf.string))
        with tf1.variable_scope("parts", partitioner=tf1.fixed_size_partitioner(2)):  # other parts than were saved
            parts = tf1.get_variable("w", [7, 2])
        saver = tf1.train.Saver()
        with tf1.Session() as sess:
            saver.restore(sess, tf1.train.latest_checkpoint(str(copied)))
            assert sess.run(whole).tolist() == [[0, 1, 2], [3, 4, 100]]
            assert sess.run(text)[0, 1] == b"a\0b"
            assert sess.run(tf.convert_to_tensor(parts)).tolist() == np.arange(14.0).reshape(7, 2).tolist()


def test_a_shape_that_differs_is_refused():
    with tf1.Graph().as_default():
        tf1.get_variable("t/float32", [3, 2])
        saver = tf1.train.Saver()
        with tf1.Session() as sess, pytest.raises(InvalidArgumentError, match=r"\[2, ?3\]"):
            saver.restore(sess, str(WRITTEN / "saver-5"))


def test_objects_and_slots_of_an_optimizer_are_restored():
    net, optimizer = Net(), tf1.train.AdamOptimizer(0.1)
    step, generator = tf.Variable(0, dtype=tf.int64), tf.random.Generator.from_seed(1)
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step, generator=generator)
    status = checkpoint.restore(str(WRITTEN / "objects-1"))
    status.assert_existing_objects_matched()
    assert net.w.numpy().tolist() == [[np.float32(0.90000004), 2.0], [3.0, np.float32(3.9)]]
    assert (net.parts[0].numpy(), net.parts[1].numpy(), net.named["x"].numpy(), step.numpy()) == (1.0, 2, b"text", 3)
    optimizer.apply_gradients([(tf.constant([[-3.0, 1.0], [0.0, 0.5]]), net.w)])  # which makes the slots
    np.testing.assert_allclose(net.w.numpy(), [[0.94941884, 1.9255866], [3.0, 3.8169405]], rtol=1e-6)
    np.testing.assert_allclose(optimizer.get_slot(net.w, "m").numpy(), [[-0.21, 0.1], [0.0, 0.23]], rtol=1e-6)
    drawn = [0.48252344131469727, 0.15580534934997559, 0.37032270431518555]
    assert generator.uniform([3]).numpy().tolist() == drawn


def test_the_state_of_an_iterator_of_tensorflow_stays_behind():
    iterator = iter(tf.data.Dataset.range(5))
    status = tf.train.Checkpoint(iterator=iterator).restore(str(WRITTEN / "objects-1"))
    assert next(iterator).numpy() == 0
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_consumed()
    status.expect_partial()


@pytest.mark.parametrize("built", [True, False])
def test_a_keras_model_trains_on(built):
    keras = tf.keras
    model = keras.Sequential([keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)])
    model.compile(optimizer="adam", loss="mse")
    if built:
        model.build((None, 4))
        model.optimizer.build(model.trainable_variables)
    status = tf.train.Checkpoint(model=model).read(str(WRITTEN / "keras"))
    model.build((None, 4))
    np.testing.assert_allclose(model.predict(X[:2], verbose=0), PREDICTED, rtol=1e-5)
    losses = model.fit(X, Y, epochs=2, verbose=0, shuffle=False).history["loss"]
    np.testing.assert_allclose(losses, LOSSES, rtol=1e-6)
    status.assert_existing_objects_matched()


# Damage.


@given(st.data())
def test_damaged_bytes_are_data_loss(data):
    content = index_path(WRITTEN / "saver-5").read_bytes()
    place = data.draw(st.integers(0, len(content) - len(MAGIC) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    try:
        found = dict(table_items(bytes(changed)))
    except (DataLossError, UnimplementedError):
        return
    assert found == dict(table_items(content))  # the padding of the footer, and the block about the table


@pytest.mark.parametrize("count", [8, 20, 47, 48, 300])
def test_a_short_index_is_data_loss(copied, count):
    path = index_path(copied / "saver-5")
    path.write_bytes(path.read_bytes()[-count:])
    with pytest.raises(DataLossError, match="the index of a TensorFlow checkpoint, cannot be read"):
        CheckpointReader(copied / "saver-5")


@pytest.mark.parametrize("name", ["t/float32", "text", "parts/w"])
def test_damaged_values_are_data_loss(copied, name):
    reader = CheckpointReader(copied / "saver-5")
    entry = reader.entry(name)
    first = entry.parts[0].entry if entry.parts else entry
    path = shards_on_disk(copied / "saver-5")[first.shard]
    content = bytearray(path.read_bytes())
    content[first.begin + first.size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataLossError, match="damaged"):
        reader.get_tensor(name)


def test_a_file_that_is_cut_is_data_loss(copied):
    path = shards_on_disk(copied / "saver-5")[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataLossError, match="of a file of 100"):
        read_all(copied / "saver-5")


def test_a_missing_file_is_named(copied):
    lost = shards_on_disk(copied / "saver-5")[1]
    lost.unlink()
    with pytest.raises(NotFoundError, match=f"{lost.name} is missing"):
        CheckpointReader(copied / "saver-5").open_all()


@given(st.data())
def test_forged_messages_are_refused_or_read(tmp_path_factory, data):
    """Whatever the index says, with right checksums: an error of Situs', or values that are in the files."""
    items = sorted(table_items(index_path(WRITTEN / "saver-5").read_bytes()))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(items) - 1))
        key, value = items[number]
        place = data.draw(st.integers(0, len(value)))
        after = place + data.draw(st.integers(0, 3))
        items[number] = key, value[:place] + data.draw(st.binary(max_size=6)) + value[after:]
    folder = tmp_path_factory.mktemp("forged")
    for path in shards_on_disk(WRITTEN / "saver-5"):
        shutil.copy(path, folder)
    index_path(folder / "saver-5").write_bytes(table(items, 4, 2))
    with contextlib.suppress(OpError):
        for name, value in read_all(folder / "saver-5").items():
            assert np.shape(value) == CheckpointReader(folder / "saver-5").entry(name).shape


def test_a_part_with_parts_is_data_loss(copied):
    items = dict(table_items(index_path(copied / "saver-5").read_bytes()))
    part = next(key for key in items if key.startswith(b"\0"))
    items[part] += BundleEntryProto(slices=[{"extent": [{}, {}]}]).SerializeToString()
    index_path(copied / "saver-5").write_bytes(table(sorted(items.items()), 4, 2))
    with pytest.raises(DataLossError, match="a part of a variable has parts"):
        CheckpointReader(copied / "saver-5")


@pytest.mark.parametrize("items", [[(b"b", b""), (b"a", b"")], [(b"a", b""), (b"a", b"")]])
def test_keys_that_do_not_ascend_are_data_loss(items):
    with pytest.raises(DataLossError, match="do not ascend"):
        list(table_items(table(items, 1, 1)))


def test_a_small_file_does_not_stand_for_long_keys():
    long = b"k" * 5000
    bomb = table([(long + number.to_bytes(2, "big"), b"") for number in range(5000)], 5000, 5000)
    with pytest.raises(DataLossError, match="too long"):
        list(table_items(bomb))


# In the place of others.


def test_the_files_of_tensorflow_go_with_its_checkpoint(copied):
    tf1.train.remove_checkpoint(str(copied / "saver-5"))
    assert sorted(path.name for path in copied.iterdir()) == [
        "keras.data-00000-of-00001",
        "keras.index",
        "objects-1.data-00000-of-00001",
        "objects-1.index",
    ]


def test_a_checkpoint_of_situs_takes_the_place_of_one_of_tensorflow(copied):
    tf.train.Checkpoint(w=tf.Variable(5.0)).write(str(copied / "saver-5"))
    assert list(read_all(copied / "saver-5")) == ["_CHECKPOINTABLE_OBJECT_GRAPH", "w/.ATTRIBUTES/VARIABLE_VALUE"]
    assert {path.suffix for path in shards_on_disk(copied / "saver-5")} == {".safetensors"}


# Tables.


@given(
    st.dictionaries(st.binary(max_size=12), st.binary(max_size=40), max_size=40), st.integers(1, 9), st.integers(1, 4)
)
def test_tables_of_any_blocks_are_read(items, size, whole):
    assert list(table_items(table(sorted(items.items()), size, whole))) == sorted(items.items())


def table(items: list[tuple[bytes, bytes]], size: int, whole: int) -> bytes:
    """A table of blocks of `size` keys, every `whole`-th of them written in full."""
    content, index = b"", []
    for begin in range(0, len(items), size):
        content, place = with_block(content, items[begin : begin + size], whole)
        index.append((items[min(begin + size, len(items)) - 1][0], place))
    content, about = with_block(content, [], whole)
    content, place = with_block(content, index, 1)
    return content + (about + place).ljust(40, b"\0") + MAGIC


def with_block(content: bytes, items: list[tuple[bytes, bytes]], whole: int) -> tuple[bytes, bytes]:
    """A table with one more block, and where that is."""
    block, before, restarts = b"", b"", []
    for number, (key, value) in enumerate(items):
        shared = 0
        if number % whole == 0:
            restarts.append(len(block))
        else:
            shared = next(
                (n for n, (a, b) in enumerate(zip(before, key, strict=False)) if a != b), min(len(before), len(key))
            )
        block += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    block += b"".join(place.to_bytes(4, "little") for place in restarts or [0])
    block += max(1, len(restarts)).to_bytes(4, "little")
    place = varint(len(content)) + varint(len(block))
    return content + block + b"\0" + masked_crc32c(block + b"\0").to_bytes(4, "little"), place


def varint(value: int) -> bytes:
    made = b""
    while value >= 0x80:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])
