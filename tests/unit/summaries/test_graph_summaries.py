"""Summaries of TensorFlow 1 as ops: the bytes are those that TensorFlow 2.21 makes of the same calls."""

from __future__ import annotations

import base64
import io
import wave

import numpy as np
import pytest
from PIL import Image

import situs.compat.v1 as tf
from situs.compat.v1 import summary


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(tensor, feed=None):
    with tf.Session() as sess:
        return sess.run(tensor, feed)


def parsed(tensor, feed=None):
    return summary.Summary.FromString(run(tensor, feed)).value


def in_train(make):
    with tf.name_scope("train"):
        return make()


CLIP = np.array([[0, 0.5, -1, 1, 2]], np.float32)
STEREO = np.array([[[0, 0.5], [-1, 1]]], np.float32)
FAR_APART = np.array([-1.5, 0, 0, 2.5, 1e-13, 3e21], np.float32).astype(np.float64)
ROUNDED = np.array([[1.5, 2.5, -1.5, -2.5, 0.49999, np.nan, np.inf]], np.float32) / 32768
HALVES = np.array([0.1, 0.2, 3, 500], np.float16)

RECORDED = {
    "a scalar": (lambda: summary.scalar("loss", tf.constant(0.25)), "CgsKBGxvc3MVAACAPg=="),
    "an integer": (lambda: summary.scalar("my loss: (x)", 3), "ChMKDG15X2xvc3NfX194XxUAAEBA"),
    "a large integer": (
        lambda: summary.scalar("i64", tf.constant(2**60 + 1, tf.int64)),
        base64.b64encode(b"\n\n\n\x03i64\x15\x00\x00\x80]").decode(),
    ),
    "half a scalar": (
        lambda: summary.scalar("h16", tf.constant(1.0, tf.float16)),
        base64.b64encode(b"\n\n\n\x03h16\x15\x00\x00\x80?").decode(),
    ),
    "a family in a scope": (
        lambda: in_train(lambda: summary.scalar("loss", tf.constant(0.25, tf.float64), family="fam")),
        "ChkKEmZhbS90cmFpbi9mYW0vbG9zcxUAAIA+",
    ),
    "an empty name": (
        lambda: summary.scalar("", tf.constant(1.0)),
        base64.b64encode(b"\n\x05\x15\x00\x00\x80?").decode(),
    ),
    "leading slashes": (
        lambda: summary.scalar("///x", tf.constant(1.0)),
        base64.b64encode(b"\n\x08\n\x01x\x15\x00\x00\x80?").decode(),
    ),
    "a histogram": (
        lambda: in_train(lambda: summary.histogram("w", FAR_APART)),
        "Cr0BCgd0cmFpbi93KrEBCQAAAAAAAPi/EQAAAKArVGREGQAAAAAAABhAIQAAAKArVGREKUDyhton1NlIMkB5TPri0//5v4VFzJ/Aove/AAAAAA"
        "AAAAAR6i2BmZdxPXdgPA5mCANA6jYPdqPvBEBMVJ8CI4MVRP///////+9/OkAAAAAAAAAAAAAAAAAAAPA/AAAAAAAAAAAAAAAAAAAIQAAAAAAA"
        "AAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAPA/",
    ),
    "a histogram of halves": (
        lambda: summary.histogram("h_1", HALVES),
        "CskBCgNoXzEqwQEJAAAAAACYuT8RAAAAAABAf0AZAAAAAAAAEEAhAAAAgMx0f0ApAJpZZsiEDkEySDgvmkP51rc/JWf2Y0U5uj+QQLkPIo3JPw"
        "XHSxE/G8w/aLwQNZoHB0ANnMWgKVUJQJsyPlNR7H5AbzVih/kBgUD////////vfzpIAAAAAAAAAAAAAAAAAADwPwAAAAAAAAAAAAAAAAAA8D8A"
        "AAAAAAAAAAAAAAAAAPA/AAAAAAAAAAAAAAAAAADwPwAAAAAAAAAA",
    ),
    "a histogram of integers": (
        lambda: summary.histogram("ints", tf.constant([1, 2, 3])),
        "CqoBCgRpbnRzKqEBCQAAAAAAAPA/EQAAAAAAAAhAGQAAAAAAAAhAIQAAAAAAABhAKQAAAAAAACxAMjgImWkZFVrtPysU+s2+JPA/3JTNLo11/z"
        "/gEfEMdE0BQGi8EDWaBwdADZzFoClVCUD////////vfzo4AAAAAAAAAAAAAAAAAADwPwAAAAAAAAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAPA/"
        "AAAAAAAAAAA=",
    ),
    "a histogram of nothing": (
        lambda: summary.histogram("empty", tf.zeros([0])),
        "Ci8KBWVtcHR5KiYJ////////738R////////7/8yCP///////+9/OggAAAAAAAAAAA==",
    ),
    "sounds": (
        lambda: summary.audio("au", CLIP, 8000),
        "CloKCmF1L2F1ZGlvLzAyTA0AAPpFEAEYBSI2UklGRi4AAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQoAAAAAAABAAID/f/9/Kg"
        "lhdWRpby93YXY=",
    ),
    "one stereo sound": (
        lambda: summary.audio("au3", STEREO, tf.constant(44100.0), max_outputs=1),
        "ClcKCWF1My9hdWRpbzJKDQBELEcQAhgCIjRSSUZGLAAAAFdBVkVmbXQgEAAAAAEAAgBErAAAELECAAQAEABkYXRhCAAAAAAAAEAAgP9/KglhdW"
        "Rpby93YXY=",
    ),
    "rounded samples": (
        lambda: summary.audio("r", ROUNDED, 8000.6),
        "Cl0KCXIvYXVkaW8vMDJQDc0E+kUQARgHIjpSSUZGMgAAAFdBVkVmbXQgEAAAAAEAAQBBHwAAgj4AAAIAEABkYXRhDgAAAAIAAwD+//3/AAAAAP"
        "9/KglhdWRpby93YXY=",
    ),
    "silence of no length": (
        lambda: summary.audio("r_1", np.zeros((1, 0), np.float32), 8000),
        "Ck8KC3JfMS9hdWRpby8wMkANAAD6RRABIixSSUZGJAAAAFdBVkVmbXQgEAAAAAEAAQBAHwAAgD4AAAIAEABkYXRhAAAAACoJYXVkaW8vd2F2",
    ),
    "text": (
        lambda: summary.text("txt", tf.constant(["hello", "a b"])),
        "CiUKA3R4dEIUCAcSBBICCAJCBWhlbGxvQgNhIGJKCAoGCgR0ZXh0",
    ),
    "a tensor with a description": (
        lambda: summary.tensor_summary(
            "ten", tf.constant([[1.0, 2.0], [3.0, 4.0]]), display_name="D", summary_description="S"
        ),
        "Ci0KA3RlbkIeCAESCBICCAISAggCIhAAAIA/AAAAQAAAQEAAAIBASgYSAUQaAVM=",
    ),
    "booleans": (
        lambda: summary.tensor_summary("tenb", tf.constant([True, False])),
        "ChYKBHRlbmJCDAgKEgQSAggCIgIBAEoA",
    ),
    "a scalar tensor": (lambda: summary.tensor_summary("tens", tf.constant(7)), "ChQKBHRlbnNCCggDEgAiBAcAAABKAA=="),
    "brain floats": (
        lambda: summary.tensor_summary("t16", tf.constant([0.5], tf.bfloat16)),
        "ChUKA3QxNkIMCA4SBBICCAEiAgA/SgA=",
    ),
    "no elements": (lambda: summary.tensor_summary("te", tf.zeros([0, 2])), "ChIKAnRlQgoIARIGEgASAggCSgA="),
    "a complex number": (
        lambda: summary.tensor_summary("tc", tf.constant(1 + 2j)),
        "Ch4KAnRjQhYIEhIAIhAAAAAAAADwPwAAAAAAAABASgA=",
    ),
}


@pytest.mark.parametrize("case", RECORDED)
def test_a_summary_has_the_bytes_of_tensorflow(case):
    make, recorded = RECORDED[case]
    assert base64.b64encode(run(make())).decode() == recorded


def test_merging_puts_summaries_one_after_the_other():
    a, b = summary.scalar("loss", tf.constant(0.25)), summary.scalar("b", tf.constant(1.0))
    assert run(summary.merge([a, b])) == run(a) + run(b)
    assert run(summary.merge([tf.constant(b""), tf.constant([b"", b""])])) == b""


# Names.


def test_a_second_summary_of_a_name_has_a_tag_of_its_own():
    first, second = summary.scalar("loss", 1.0), summary.scalar("loss", 2.0)
    assert [first.name, second.name] == ["loss:0", "loss_1:0"]
    assert parsed(second)[0].tag == "loss_1"


def test_nodes_are_named_as_in_tensorflow(graph):
    summary.scalar("my loss: (x)", 3)
    with tf.name_scope("train"):
        summary.histogram("w", np.zeros(2, np.float32))
    merged = summary.merge_all()
    assert [(node.name, node.type) for node in graph.get_operations()] == [
        ("my_loss___x_/tags", "Const"),
        ("my_loss___x_/values", "Const"),
        ("my_loss___x_", "ScalarSummary"),
        ("train/w/tag", "Const"),
        ("train/w/values", "Const"),
        ("train/w", "HistogramSummary"),
        ("Merge/MergeSummary", "MergeSummary"),
    ]
    assert merged.shape == ()
    assert merged.dtype == tf.string


def test_an_illegal_name_is_told_in_the_log(caplog):
    with caplog.at_level("INFO", logger="situs"):
        summary.scalar("a b", 1.0)
    assert "Summary name a b is illegal; using a_b instead." in caplog.text


def test_summaries_are_collected():
    scalar = summary.scalar("a", 1.0)
    summary.histogram("b", [1.0], collections=["mine", "ours"])
    summary.text("c", "x", collections=[])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [scalar]
    assert len(tf.get_collection("mine")) == len(tf.get_collection("ours")) == 1
    merged = summary.merge([scalar], collections=[tf.GraphKeys.SUMMARY_OP])
    assert tf.get_collection(tf.GraphKeys.SUMMARY_OP) == [merged]


def test_merge_all_takes_a_collection_and_a_scope():
    assert summary.merge_all() is None
    for where in ("train", "test"):
        with tf.name_scope(where):
            summary.scalar("loss", 1.0)
    assert [value.tag for value in parsed(summary.merge_all(scope="test"))] == ["test/loss"]
    assert [value.tag for value in parsed(summary.merge_all())] == ["train/loss", "test/loss"]
    assert summary.merge_all("nothing") is None


def test_a_graph_with_summaries_can_be_imported_again(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    summary.scalar("loss", x * 2)
    summary.image("im", tf.zeros([1, 2, 2, 1]), max_outputs=2)
    message = graph.as_graph_def()
    with tf.Graph().as_default() as again:
        tf.import_graph_def(message, name="")
        assert parsed(again.get_tensor_by_name("loss:0"), {"x:0": 2.0})[0].simple_value == 4
        assert parsed(again.get_tensor_by_name("im:0"))[0].tag == "im/image/0"


# Images.


def pixels(value):
    picture = Image.open(io.BytesIO(value.image.encoded_image_string))
    return np.asarray(picture).reshape(value.image.height, value.image.width, value.image.colorspace)


FLOATS = np.arange(12, dtype=np.float32).reshape(2, 2, 3, 1)
STRANGE = np.array([[-1, 0.5, np.nan], [np.inf, 0.25, -0.25]], np.float32).reshape(1, 2, 3, 1)


def test_floats_are_scaled_by_the_largest_of_their_image():
    first, second = parsed(summary.image("im", FLOATS))
    assert (first.tag, second.tag) == ("im/image/0", "im/image/1")
    assert pixels(first).ravel().tolist() == [0, 51, 102, 153, 204, 255]
    assert pixels(second).ravel().tolist() == [139, 162, 185, 208, 231, 255]


@pytest.mark.parametrize(
    ("image", "recorded"),
    [
        (STRANGE, [1, 191, 255, 255, 159, 96]),
        (np.zeros((1, 1, 2, 3), np.float32), [0] * 6),
        (np.array([0.1, 0.2, 0.3, 1.0], np.float16).reshape(1, 1, 4, 1), [25, 51, 76, 255]),
        (np.arange(18, dtype=np.uint8).reshape(1, 2, 3, 3), list(range(18))),
        (np.full((1, 1, 1, 4), np.nan), [255, 0, 0, 255]),
    ],
    ids=["negative and bad", "zeros", "halves", "bytes", "nothing good"],
)
def test_pixels_are_those_of_tensorflow(image, recorded):
    assert pixels(parsed(summary.image("im", image))[0]).ravel().tolist() == recorded


def test_one_image_has_no_number():
    values = parsed(summary.image("im", FLOATS, max_outputs=1))
    assert [value.tag for value in values] == ["im/image"]


def test_an_empty_batch_gives_an_empty_summary():
    assert run(summary.image("im", tf.zeros([0, 2, 2, 1]))) == b""


def test_sounds_can_be_played():
    value = parsed(summary.audio("a", np.zeros((2, 5, 2), np.float32), 8000))[1]
    assert value.tag == "a/audio/1"
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        assert (file.getnframes(), file.getnchannels(), file.getframerate(), file.getsampwidth()) == (5, 2, 8000, 2)


# Refusals.

LATE = {
    "a vector": (
        lambda: summary.scalar("v", [1.0, 2.0]),
        r"tags and values are not the same shape: \[\] != \[2\] \(tag 'v'\)",
    ),
    "nan": (lambda: summary.histogram("hn", [1.0, np.nan]), "Nan in summary histogram for: hn"),
    "infinity": (lambda: summary.histogram("hi", [1.0, np.inf]), "Infinity in Histogram for: hi"),
    "images of rank 3": (
        lambda: summary.image("i", tf.zeros([2, 2, 3])),
        r"4-D with last dim 1, 3, or 4, not \[2,2,3\]",
    ),
    "five channels": (lambda: summary.image("i", tf.zeros([1, 2, 2, 5])), r"last dim 1, 3, or 4, not \[1,2,2,5\]"),
    "images without pixels": (lambda: summary.image("i", tf.zeros([1, 0, 2, 3])), "must have non-zero dims"),
    "sounds of rank 1": (lambda: summary.audio("a", tf.zeros([5]), 8000), r"Tensor must be 3-D or 2-D, got: \[5\]"),
    "a negative rate": (lambda: summary.audio("a", tf.zeros([5, 4]), -1.0), "sample_rate must be > 0"),
    "a rate of nan": (lambda: summary.audio("a", tf.zeros([5, 4]), np.nan), "sample_rate must be > 0"),
    "two equal tags": (
        lambda: summary.merge([summary.scalar("loss", 1.0)] * 2),
        "Duplicate tag loss found in summary inputs",
    ),
    "garbage": (lambda: summary.merge([tf.constant(b"\xff\xff\xff")]), "Could not parse one of the summary inputs"),
}


@pytest.mark.parametrize("case", LATE)
def test_a_bad_value_is_refused_when_it_runs(case):
    make, message = LATE[case]
    made = make()
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(made)


EARLY = {
    "a string": (lambda: summary.scalar("s", tf.constant("x")), TypeError, "string"),
    "a truth": (lambda: summary.scalar("s", tf.constant(True)), TypeError, "bool"),
    "a complex number": (lambda: summary.scalar("s", tf.constant(1j)), TypeError, "complex128"),
    "integers as images": (lambda: summary.image("i", tf.zeros([1, 2, 2, 3], tf.int32)), TypeError, "int32"),
    "no images": (lambda: summary.image("i", tf.zeros([1, 2, 2, 3]), max_outputs=0), ValueError, "at least 1"),
    "half an image": (lambda: summary.image("i", tf.zeros([1, 2, 2, 3]), max_outputs=0.5), TypeError, "Expected int"),
    "numbers as text": (lambda: summary.text("t", tf.constant(3)), ValueError, "to have dtype string, got"),
    "nothing to merge": (lambda: summary.merge([]), ValueError, "nothing to merge"),
    "numbers to merge": (lambda: summary.merge([tf.constant(1.0)]), TypeError, "string"),
    "no list to merge": (lambda: summary.merge(3), TypeError, "Expected a list of summaries"),
    "no name": (lambda: summary.scalar(None, 1.0), ValueError, "needs a name"),
    "a number as a name": (lambda: summary.scalar(3, 1.0), TypeError, "name of a summary is a string"),
    "a name in no alphabet of operations": (lambda: summary.scalar("é", 1.0), ValueError, "not a valid scope name"),
    "metadata of another kind": (lambda: summary.tensor_summary("t", 1.0, summary_metadata=3), TypeError, "got 3"),
}


@pytest.mark.parametrize("case", EARLY)
def test_a_bad_call_is_refused_when_the_graph_is_built(case):
    make, kind, message = EARLY[case]
    with pytest.raises(kind, match=message):
        make()


def test_descriptions_are_of_old_nodes_only():
    made = summary.tensor_summary("t", 1.0)
    with pytest.raises(ValueError, match="Can't get_summary_description on TensorSummaryV2"):
        summary.get_summary_description(made.op.node_def)
    old = tf.NodeDef(op="TensorSummary")
    old.attr["description"].s = b'{"typeHint": "text"}'
    assert summary.get_summary_description(old).type_hint == "text"


def test_summaries_run_on_the_cpu_whatever_made_their_values():
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0]) * 2
    loss, weights = summary.scalar("loss", tf.reduce_sum(x)), summary.histogram("w", x)
    assert parsed(loss)[0].simple_value == 6
    assert parsed(weights)[0].histo.sum == 6
