"""``tf.summary`` of the eager dialect: what it writes is what TensorFlow writes, and what TensorBoard reads."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.util import tensor_util

import situs as tf
from situs import summary


@pytest.fixture
def writer(tmp_path):
    made = summary.create_file_writer(tmp_path / "logs")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _without_step():
    yield
    summary.experimental.set_step(None)


def events(tmp_path):
    files = sorted((tmp_path / "logs").iterdir())
    found = [event_pb2.Event.FromString(raw) for file in files for raw in RawEventFileLoader(str(file)).Load()]
    return [event for event in found if not event.file_version]


def values(tmp_path):
    return [event.summary.value[0] for event in events(tmp_path)]


def steps(tmp_path):
    return [event.step for event in events(tmp_path)]


# What is written. The tables are what TensorFlow 2.21 wrote for the same calls.

FORMS = {
    "scalar": (lambda: summary.scalar("s", 0.5, step=1, description="d"), "scalars", b"", "d", 1, [], b"\0\0\0?"),
    "an integer": (lambda: summary.scalar("s", 3, step=1), "scalars", b"", "", 1, [], b"\0\0@@"),
    "a truth": (lambda: summary.scalar("s", True, step=1), "scalars", b"", "", 1, [], b"\0\0\x80?"),
    "histogram": (
        lambda: summary.histogram("h", [1.0, 2.0, 3.0, 4.0], step=1, buckets=3),
        "histograms",
        b"",
        "",
        2,
        [3, 3],
        np.array([[1, 2, 1], [2, 3, 1], [3, 4, 2]], np.float64).tobytes(),
    ),
    "no buckets": (lambda: summary.histogram("h", [1.0], step=1, buckets=0), "histograms", b"", "", 2, [0, 3], b""),
    "text": (lambda: summary.text("t", "hello", step=1), "text", b"", "", 7, [], [b"hello"]),
    "texts": (lambda: summary.text("t", ["a", "b"], step=1), "text", b"", "", 7, [2], [b"a", b"b"]),
    "no sounds": (
        lambda: summary.audio("a", np.zeros([2, 4, 1], np.float32), 8000, step=1, max_outputs=0),
        "audio",
        b"\020\013",
        "",
        7,
        [0, 2],
        [],
    ),
}


@pytest.mark.parametrize("case", FORMS)
def test_a_value_has_the_form_of_tensorflow(case, writer, tmp_path):
    write, plugin, content, description, dtype, shape, data = FORMS[case]
    with writer.as_default():
        assert bool(write())
    (value,) = values(tmp_path)
    assert value.metadata.plugin_data.plugin_name == plugin
    assert value.metadata.plugin_data.content == content
    assert value.metadata.summary_description == description
    assert (value.tensor.dtype, [dim.size for dim in value.tensor.tensor_shape.dim]) == (dtype, shape)
    assert (list(value.tensor.string_val) if isinstance(data, list) else value.tensor.tensor_content) == data


def test_sounds_are_files_with_labels(writer, tmp_path):
    clip = np.array([[[0], [0.5], [-1], [1], [2]]], np.float32)
    with writer.as_default():
        summary.audio("au", clip, 8000, step=1, encoding="wav")
        summary.audio("au", clip, tf.constant(8000), step=1)
    for value in values(tmp_path):
        assert list(value.tensor.string_val) == [
            b"RIFF.\000\000\000WAVEfmt \020\000\000\000\001\000\001\000@\037\000\000\200>\000\000\002\000\020\000"
            b"data\n\000\000\000\000\000\000@\000\200\377\177\377\177",
            b"",
        ]


PICTURES = {
    "floats": (np.array([0, 0.1, 0.5, 0.999, 1, 1.5], np.float32).reshape(1, 2, 3, 1), [0, 25, 127, 255, 255, 255]),
    "bad floats": (np.array([np.nan, np.inf, -np.inf, -3], np.float64).reshape(1, 2, 2, 1), [0, 255, 0, 0]),
    "bytes": (np.arange(18, dtype=np.uint8).reshape(1, 2, 3, 3), list(range(18))),
    "int8": (np.array([0, 1, 100, -3, 127, 42], np.int8).reshape(1, 2, 3, 1), [0, 2, 200, 0, 254, 84]),
    "uint16": (np.array([0, 255, 256, 65535], np.uint16).reshape(1, 2, 2, 1), [0, 0, 1, 255]),
    "int32": (np.array([0, 2**30, -5, 2**31 - 1], np.int32).reshape(1, 2, 2, 1), [0, 128, 0, 255]),
    "int64": (np.array([0, 100, -3, 2**63 - 1], np.int64).reshape(1, 2, 2, 1), [0, 0, 0, 255]),
    "grey with alpha": (np.arange(8, dtype=np.uint8).reshape(1, 2, 2, 2), list(range(8))),
}


@pytest.mark.parametrize("case", PICTURES)
def test_pixels_are_those_of_tensorflow(case, writer, tmp_path):
    images, recorded = PICTURES[case]
    with writer.as_default():
        summary.image("im", images, step=1)
    width, height, file = values(tmp_path)[0].tensor.string_val
    assert (int(width), int(height)) == images.shape[2:0:-1]
    assert np.asarray(Image.open(io.BytesIO(file))).ravel().tolist() == recorded


def test_images_may_be_a_list_and_many(writer, tmp_path):
    with writer.as_default():
        summary.image("im", [tf.zeros([2, 2, 1]), tf.ones([2, 2, 1])], step=1)
        summary.image("im", tf.zeros([5, 2, 2, 1]), step=1)
        summary.image("im", tf.zeros([5, 2, 2, 1]), step=1, max_outputs=0)
    assert [len(value.tensor.string_val) for value in values(tmp_path)] == [4, 5, 2]


def test_tensorboard_reads_all_of_it(writer, tmp_path):
    with writer.as_default():
        for step in range(3):
            summary.scalar("loss", step * 0.5, step=step)
        summary.histogram("w", tf.random.normal([100]), step=2)
        summary.image("im", tf.zeros([1, 4, 5, 3]), step=2)
        summary.text("note", "hello", step=2)
    found = EventAccumulator(str(tmp_path / "logs")).Reload()
    assert set(found.Tags()["tensors"]) == {"loss", "w", "im", "note"}
    loss = [(item.step, tensor_util.make_ndarray(item.tensor_proto).item()) for item in found.Tensors("loss")]
    assert loss == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert tensor_util.make_ndarray(found.Tensors("w")[0].tensor_proto)[:, 2].sum() == 100
    assert found.SummaryMetadata("im").plugin_data.plugin_name == "images"


# Steps, writers and conditions.


def test_nothing_is_written_without_a_writer():
    assert not bool(summary.scalar("a", 1.0))
    assert not bool(summary.write("a", 1.0))
    assert not bool(summary.experimental.write_raw_pb(b""))
    assert not bool(summary.graph(tf.Graph()))
    assert not bool(summary.should_record_summaries())
    assert summary.flush() is None


def test_the_step_is_given_or_set(writer, tmp_path):
    with writer.as_default():
        with pytest.raises(ValueError, match=r"No step set.*tf\.summary\.experimental\.set_step"):
            summary.scalar("a", 1.0)
        summary.experimental.set_step(7)
        summary.scalar("a", 1.0)
        summary.scalar("a", 1.0, step=8)
        summary.scalar("a", 1.0, step=tf.Variable(9, dtype=tf.int64))
        summary.scalar("a", 1.0, step=tf.constant(10))
        summary.scalar("a", 1.0, step=np.int64(-2))
        assert summary.experimental.get_step() == 7
    with writer.as_default(step=11):
        summary.scalar("a", 1.0)
    assert summary.experimental.get_step() == 7
    assert steps(tmp_path) == [7, 8, 9, 10, -2, 11]


def test_record_if_decides(writer, tmp_path):
    with writer.as_default(step=1):
        with summary.record_if(False):
            assert not bool(summary.scalar("no", 1.0))
            assert not bool(summary.should_record_summaries())
            with summary.record_if(True):
                assert bool(summary.scalar("inner", 1.0))
        with summary.record_if(lambda: tf.constant(2) > 1):
            assert bool(summary.scalar("called", 1.0))
        with summary.record_if(tf.constant(False)):
            assert not bool(summary.histogram("no", [1.0]))
        with summary.record_if(tf.constant(1.0)), pytest.raises(TypeError, match="if a boolean is true"):
            summary.scalar("no", 1.0)
    assert [value.tag for value in values(tmp_path)] == ["inner", "called"]


def test_a_value_that_is_not_written_is_not_made(writer):
    with writer.as_default(step=1), summary.record_if(False):
        summary.write("a", lambda: pytest.fail("made"))


def test_writers_nest_and_belong_to_a_thread(writer, tmp_path):
    other = summary.create_file_writer(tmp_path / "other")
    with writer.as_default(step=1):
        with other.as_default():
            summary.scalar("other", 1.0)
        summary.scalar("mine", 1.0)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(bool(summary.scalar("thread", 1.0, step=1))))
        thread.start()
        thread.join()
        assert seen == [False]
    other.close()
    assert [value.tag for value in values(tmp_path)] == ["mine"]


def test_a_writer_can_be_set_for_good(writer, tmp_path):
    writer.set_as_default(step=4)
    try:
        summary.scalar("a", 1.0)
        summary.flush()
        assert steps(tmp_path) == [4]
        with summary.create_noop_writer().as_default() as noop:
            noop.set_as_default()
            assert bool(summary.scalar("a", 1.0)), "a writer that does nothing does not even hide another"
            noop.init(), noop.flush(), noop.close()
    finally:
        from situs._src.summaries.recording import state

        state.writer = None


def test_a_closed_writer_is_refused(writer):
    with writer.as_default(step=1):
        writer.close()
        with pytest.raises(tf.errors.FailedPreconditionError, match="is closed"):
            summary.scalar("a", 1.0)
    writer.close()
    writer.flush()
    for use in (writer.set_as_default, lambda: writer.as_default().__enter__()):
        with pytest.raises(RuntimeError, match="is already closed"):
            use()


def test_the_file_is_named_and_flushed_as_asked(tmp_path):
    writer = summary.create_file_writer(
        tmp_path / "logs", max_queue=0, flush_millis=10, filename_suffix=".mine", name="n"
    )
    (file,) = (tmp_path / "logs").iterdir()
    assert file.name.startswith("events.out.tfevents.")
    assert file.name.endswith(".mine")
    writer.set_as_default(step=1)
    try:
        summary.scalar("a", 1.0)
        assert steps(tmp_path) == [1]
    finally:
        from situs._src.summaries.recording import state

        state.writer = None
        writer.close()


def test_tensors_and_messages_are_written_as_they_are(writer, tmp_path):
    metadata = summary_pb2.SummaryMetadata(display_name="x")
    raw = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="raw", simple_value=2.0)])
    with writer.as_default(step=5):
        summary.write("numbers", tf.constant([1.0, 2.0]))
        summary.write("named", [1, 2], metadata=metadata)
        summary.write("named", [1, 2], metadata=metadata.SerializeToString())
        assert bool(summary.experimental.write_raw_pb(raw.SerializeToString()))
    numbers, named, again, written = values(tmp_path)
    assert not numbers.HasField("metadata")
    assert named.metadata == again.metadata == metadata
    assert written == raw.value[0]


def test_a_graph_is_written(writer, tmp_path):
    @tf.function
    def double(x):
        return x * 2.0

    graph = double.get_concrete_function(tf.constant(1.0)).graph
    with writer.as_default():
        assert bool(summary.graph(graph))
        with summary.record_if(False):
            assert not bool(summary.graph(graph))
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            summary.graph(3)
        with tf.Graph().as_default() as outer, pytest.raises(RuntimeError, match="inside a graph context"):
            summary.graph(outer)
    drawn = EventAccumulator(str(tmp_path / "logs")).Reload().Graph()
    assert "Mul" in {node.op for node in drawn.node}


# In functions.


def test_a_function_writes_whenever_it_runs(writer, tmp_path):
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train(x):
        with tf.name_scope("train"):
            written = summary.scalar("loss", x * 2.0, step=step)
        step.assign_add(1)
        return written

    with writer.as_default():
        assert [bool(train(tf.constant(float(n)))) for n in range(3)] == [True] * 3
    assert [(value.tag, tensor_util.make_ndarray(value.tensor).item()) for value in values(tmp_path)] == [
        ("train/loss", 0.0),
        ("train/loss", 2.0),
        ("train/loss", 4.0),
    ]
    assert steps(tmp_path) == [0, 1, 2]


def test_a_function_decides_by_tensors(writer, tmp_path):
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train(x):
        with summary.record_if(lambda: tf.equal(step % 2, 0)):
            summary.histogram("w", x, step=step)
            written = summary.scalar("loss", x[0], step=step)
        step.assign_add(1)
        return written

    with writer.as_default():
        assert [bool(train(tf.ones([3]))) for _ in range(4)] == [True, False, True, False]
    assert [(event.step, event.summary.value[0].tag) for event in events(tmp_path)] == [
        (0, "w"),
        (0, "loss"),
        (2, "w"),
        (2, "loss"),
    ]


def test_a_function_may_make_a_writer_the_default_and_flush_it(writer, tmp_path):
    @tf.function
    def train(x, step):
        with writer.as_default():
            for _ in tf.range(2):
                summary.scalar("loss", x, step=step)

    train(tf.constant(1.0), tf.constant(3, tf.int64))
    assert steps(tmp_path) == [3, 3]


def test_every_kind_is_written_by_functions(writer, tmp_path):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([None, None, 1], tf.float32)])
    def train(images, clips):
        summary.image("im", images, step=1)
        summary.audio("au", clips, 8000, step=1)
        summary.text("t", tf.strings.join(["a", "b"]), step=1)
        summary.histogram("h", images, step=1)

    with writer.as_default():
        train(tf.zeros([4, 2, 2, 1]), tf.zeros([1, 3, 1]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank 4"):
            train(tf.zeros([2, 2, 1]), tf.zeros([1, 3, 1]))
    assert sorted(value.tag for value in values(tmp_path))[:4] == ["au", "h", "im", "t"]


def test_what_lies_inside_is_written_once_under_a_tape_too(writer, tmp_path):
    v = tf.Variable(2.0)

    @tf.function
    def inner(x):
        summary.scalar("inner", x, step=1)
        return x * x

    @tf.function
    def outer(x):
        y = inner(x)
        if x > 0:
            summary.scalar("branch", x, step=1)
        return y * v

    with writer.as_default():
        with tf.GradientTape() as tape:
            y = outer(tf.constant(3.0))
        assert float(tape.gradient(y, v)) == 9.0
    assert sorted(value.tag for value in values(tmp_path)) == ["branch", "inner"]


def test_summaries_do_not_disturb_gradients(writer):
    x = tf.Variable(3.0)
    with writer.as_default(step=1), tf.GradientTape() as tape:
        y = x * x
        summary.scalar("y", y)
        summary.histogram("h", y)
    assert float(tape.gradient(y, x)) == 6.0


def test_values_come_from_any_device(writer, tmp_path, on_device):
    @tf.function
    def train(x):
        summary.scalar("inside", x, step=1)

    with writer.as_default(step=1):
        x = tf.constant(2.0) * 3.0
        summary.scalar("a", x)
        summary.histogram("b", [x])
        summary.image("c", tf.ones([1, 2, 2, 1]) * x)
        train(x)
    assert [value.tag for value in values(tmp_path)] == ["a", "b", "c", "inside"]


# Refusals.

WRONG = {
    "a vector": (
        lambda: summary.scalar("v", [1.0, 2.0], step=1),
        ValueError,
        r"Expected scalar shape, saw shape: \(2,\)",
    ),
    "text as a number": (lambda: summary.scalar("v", "x", step=1), NotImplementedError, "Cast string to float32"),
    "a step of text": (lambda: summary.scalar("v", 1.0, step="x"), TypeError, "int64"),
    "a step of 1.5": (lambda: summary.scalar("v", 1.0, step=1.5), TypeError, "int64"),
    "a step of float32": (lambda: summary.scalar("v", 1.0, step=tf.constant(3.0)), TypeError, "whole numbers"),
    "a huge step": (lambda: summary.scalar("v", 1.0, step=2**63), ValueError, "out-of-range"),
    "two steps": (lambda: summary.scalar("v", 1.0, step=[1, 2]), ValueError, "A step is one number"),
    "a number as a name": (lambda: summary.scalar(3, 1.0, step=1), TypeError, "name of a summary is a string"),
    "a number as a tag": (lambda: summary.write(3, 1.0, step=1), TypeError, "tag of a summary is a string"),
    "a number as a description": (lambda: summary.scalar("v", 1.0, 1, 3), TypeError, "description of a summary"),
    "metadata of text": (lambda: summary.write("v", 1.0, 1, "x"), TypeError, "SummaryMetadata message"),
    "metadata of garbage": (lambda: summary.write("v", 1.0, 1, b"\xff"), OSError, "no SummaryMetadata message"),
    "strings in a histogram": (lambda: summary.histogram("v", ["a"], step=1), TypeError, "string"),
    "half a bucket": (lambda: summary.histogram("v", [1.0], 1, buckets=2.5), TypeError, "Expected int"),
    "an image of rank 3": (lambda: summary.image("v", tf.zeros([2, 2, 1]), 1), ValueError, "must have rank 4"),
    "five channels": (
        lambda: summary.image("v", tf.zeros([1, 2, 2, 5]), 1),
        ValueError,
        "1, 2, 3, or 4 channels, got 5",
    ),
    "no pixels": (lambda: summary.image("v", tf.zeros([1, 0, 2, 3]), 1), ValueError, "at least one pixel"),
    "less than no images": (lambda: summary.image("v", tf.zeros([1, 2, 2, 3]), 1, -1), ValueError, "0 or more"),
    "a sound of rank 2": (lambda: summary.audio("v", tf.zeros([1, 2]), 8000, 1), ValueError, "must have rank 3"),
    "a rate of 0": (lambda: summary.audio("v", tf.zeros([1, 2, 1]), 0, 1), ValueError, r"must be in \(0, 2\^32\)"),
    "no channels": (lambda: summary.audio("v", tf.zeros([1, 2, 0]), 8000, 1), ValueError, "num_channels"),
    "a modern encoding": (
        lambda: summary.audio("v", tf.zeros([1, 2, 1]), 8000, 1, encoding="mp3"),
        ValueError,
        "Unknown encoding: 'mp3'",
    ),
    "numbers as text": (lambda: summary.text("v", 3, step=1), TypeError, r"must be of type tf\.string"),
    "a raw message of garbage": (lambda: summary.experimental.write_raw_pb(b"\xff", 1), OSError, "no Summary message"),
    "no folder": (lambda: summary.create_file_writer(None), ValueError, "`logdir` cannot be None"),
    "a number as a folder": (lambda: summary.create_file_writer(3), TypeError, "got 3"),
    "a mesh": (lambda: summary.create_file_writer("x", experimental_mesh=3), ValueError, "experimental_mesh"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_written_is_refused(case, writer):
    use, kind, message = WRONG[case]
    with writer.as_default(), pytest.raises(kind, match=message):
        use()


@pytest.mark.parametrize(("name", "tag"), [("a b/é:", "a b/é:"), ("", "scalar_summary"), (None, "scalar_summary")])
def test_odd_names_are_tags_as_they_are(name, tag, writer, tmp_path):
    with writer.as_default(step=1):
        summary.scalar(name, 1.0)
        tf.function(lambda: summary.scalar(name, 1.0))()
    assert [value.tag for value in values(tmp_path)] == [tag, tag]


def test_the_scope_of_a_summary_is_at_hand():
    @tf.function
    def made():
        with tf.name_scope("outer"), summary.experimental.summary_scope("my name") as (tag, scope):
            assert (tag, scope) == ("outer/my name", "outer/myname/")

    made()


def test_an_event_has_the_time(writer, tmp_path):
    before = time.time()
    with writer.as_default(step=1):
        summary.scalar("a", 1.0)
    assert before <= events(tmp_path)[0].wall_time <= time.time()


def test_name_scopes_of_eager_code_stand_before_the_tag(writer, tmp_path):
    with writer.as_default(step=1):
        with tf.name_scope("s") as outer:
            summary.scalar("b c:", 1.0)
            with tf.name_scope("t") as inner:
                summary.scalar("b", 1.0)
                with tf.name_scope(outer):
                    summary.scalar("again", 1.0)
            with tf.name_scope(""):
                summary.scalar("out", 1.0)
            tf.function(lambda: summary.scalar("function", 1.0))()
        summary.scalar("after", 1.0)
    assert (outer, inner) == ("s/", "s/t/")
    tags = [value.tag for value in values(tmp_path)]
    assert tags == ["s/b c:", "s/t/b", "s/again", "out", "function", "after"]


def test_several_messages_are_one_event(writer, tmp_path):
    messages = [summary_pb2.Summary() for _ in range(2)]
    for number, message in enumerate(messages):
        message.value.add(simple_value=number)
        message.value.add(simple_value=number + 0.5)
    with writer.as_default():
        summary.experimental.write_raw_pb([message.SerializeToString() for message in messages], step=12)
    writer.flush()
    [event] = events(tmp_path)
    assert (event.step, [value.simple_value for value in event.summary.value]) == (12, [0.0, 0.5, 1.0, 1.5])


def test_what_is_returned_has_the_name_that_was_given(writer):
    names = []

    @tf.function
    def write():
        with writer.as_default():
            names.append(summary.write("tag", 42, step=12, name="anonymous").name)

    write()
    assert names[0].startswith("anonymous")


def test_a_closed_writer_is_not_made_ready_again(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    writer.init()
    writer.close()
    with pytest.raises(RuntimeError, match="already closed"):
        writer.init()
