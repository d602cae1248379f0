"""Elements brought to devices: where they are, what becomes of strings, and that copying goes on beside the program."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as tf1
from situs import errors
from situs._src.v1 import datasets as v1
from situs.data import Dataset, experimental
from tests.unit.data.conftest import LIMIT

ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.mark.parametrize("move", [experimental.prefetch_to_device, experimental.copy_to_device])
@pytest.mark.parametrize("name", ["/gpu:1", "GPU:1", "/device:GPU:1", "/job:localhost/replica:0/task:0/device:GPU:1"])
def test_elements_come_to_the_device(move, name, ended):
    ds = Dataset.from_tensor_slices(ROWS).batch(4).apply(move(name))
    batches = list(ds)
    assert all(batch.device.endswith("GPU:1") for batch in batches)
    np.testing.assert_array_equal(np.concatenate([batch.numpy() for batch in batches]), ROWS)
    assert ended()


def test_strings_stay_on_the_host():
    ds = Dataset.from_tensor_slices({"x": ROWS, "name": list("abcdef")}).apply(
        experimental.prefetch_to_device("/gpu:0")
    )
    element = next(iter(ds))
    assert element["x"].device.endswith("GPU:0")
    assert element["name"].device.endswith("CPU:0")


def test_the_memory_of_the_device_is_its_own():
    """A copy, also on a virtual GPU: what is computed in place there does not reach the source."""
    source = tf.constant(ROWS)
    (row,) = Dataset.from_tensors(source).apply(experimental.prefetch_to_device("/gpu:0"))
    assert row._value.data_ptr() != source._value.data_ptr()


def test_to_the_cpu_is_no_copy():
    ds = Dataset.from_tensor_slices(ROWS).apply(experimental.prefetch_to_device("/cpu:0"))
    assert next(iter(ds)).device.endswith("CPU:0")


def test_stages_behind_it_go_on_where_the_elements_are(values):
    ds = Dataset.from_tensor_slices(ROWS).apply(experimental.prefetch_to_device("/gpu:0"))
    assert next(iter(ds.batch(2))).device.endswith("GPU:0")
    assert next(iter(ds.take(1).prefetch(1))).device.endswith("GPU:0")
    assert next(iter(ds.map(lambda x: x * 2.0))).device.endswith("CPU:0")
    np.testing.assert_array_equal(values(ds.map(lambda x: x * 2.0)), ROWS * 2.0)
    assert float(ds.reduce(0.0, lambda s, x: s + tf.reduce_sum(x))) == ROWS.sum()
    np.testing.assert_array_equal(ds.reduce(tf.zeros([4]), lambda s, x: s + x), ROWS.sum(0))
    np.testing.assert_array_equal(values(ds.scan(tf.zeros([4]), lambda s, x: (s + x, s + x))), ROWS.cumsum(0))
    assert ds.take(1).get_single_element().device.endswith("GPU:0")
    np.testing.assert_array_equal(values(ds.padded_batch(3, [5]))[1][0][:4], ROWS[3])


def test_errors_arrive_at_their_element():
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
    elements = iter(ds.apply(experimental.prefetch_to_device("/gpu:0")))
    assert float(next(elements)) == 1.0
    with pytest.raises(errors.InvalidArgumentError, match="bad"):
        next(elements)
    assert [float(x) for x in elements] == [0.5]


def test_a_batch_that_does_not_fit_is_an_error(run_python):
    program = (
        "import numpy as np, situs as tf, situs.data\n"
        "ds = situs.data.Dataset.from_tensor_slices(np.zeros([4, 2**20], np.float32)).batch(3)\n"
        "elements = iter(ds.apply(situs.data.experimental.prefetch_to_device('/gpu:0')))\n"
        "try: next(elements)\n"
        "except tf.errors.ResourceExhaustedError as error: print(error)\n"
        "print(next(elements).shape)\n"
    )
    out = run_python(program, SITUS_VIRTUAL_GPUS="1x8MiB")
    assert "PrefetchToDevice" in out
    assert out.endswith("(1, 1048576)\n")


@pytest.mark.parametrize("name", ["/gpu:77", "/device:TPU:0", "nonsense", 3, None])
def test_devices_that_do_not_exist_are_refused(name):
    with pytest.raises((errors.InvalidArgumentError, ValueError)):
        experimental.prefetch_to_device(name)


def test_what_cannot_be_moved_is_refused():
    with pytest.raises(TypeError, match=r"takes a tf\.data\.Dataset"):
        experimental.prefetch_to_device("/gpu:0")([1, 2])
    with pytest.raises(ValueError, match="Datasets stay on the host"):
        Dataset.range(3).window(2).apply(experimental.prefetch_to_device("/gpu:0"))
    on_gpu = Dataset.range(3).apply(experimental.prefetch_to_device("/gpu:0"))
    for combine in (lambda: Dataset.zip((on_gpu, Dataset.range(3))), lambda: on_gpu.concatenate(Dataset.range(3))):
        with pytest.raises(ValueError, match="on different devices: GPU:0, the host"):
            combine()
    for group in (lambda: on_gpu.window(2), lambda: on_gpu.group_by_window(lambda x: x, lambda k, w: w, 2)):
        with pytest.raises(ValueError, match="afterwards"):
            group()
    with pytest.raises(ValueError, match="before that"):
        Dataset.range(3).apply(experimental.prefetch_to_device("/gpu:0")).cache("file")


# Beside the program.


def test_the_next_element_is_brought_while_the_program_works_on_this_one(ended):
    begun = [threading.Event() for _ in range(6)]

    def generate():
        for number in range(5):
            begun[number].set()
            yield np.full([1000], number, np.float32)
        begun[5].set()

    ds = Dataset.from_generator(generate, tf.float32, [1000]).apply(experimental.prefetch_to_device("/gpu:0", 1))
    for element in ds:
        assert begun[int(element[0]) + 1].wait(LIMIT)
    assert ended()


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")  # said by some versions of PyTorch
def test_a_trace_shows_copies_beside_the_work(tmp_path):
    """In PyTorch's profile, copies are in another thread, and some of them at the same time as products."""
    rows = np.random.default_rng(0).random((32, 256, 256), np.float32)
    ds = Dataset.from_tensor_slices(rows).batch(4).repeat(4).apply(experimental.prefetch_to_device("/gpu:0"))
    everywhere = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with tf.device("/gpu:0"):
        weights = tf.ones([256, 4096])  # so many that a product takes much longer than a copy
        elements = iter(ds)
        next(elements)  # from here on the thread is there
        kinds = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=kinds, experimental_config=everywhere) as profile:
            for batch in elements:
                tf.matmul(batch, weights)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    copies = [event for event in events if event.get("name") == "PrefetchToDevice"]
    products = {"aten::matmul", "aten::bmm", "aten::mm", "mkldnn::_linear_pointwise"}
    work = [event for event in events if event.get("name") in products]
    assert copies
    assert work
    assert not {event["tid"] for event in copies} & {event["tid"] for event in work}
    assert any(_overlap(copy, product) for copy in copies for product in work)


def _overlap(one, other):
    return one["ts"] < other["ts"] + other["dur"] and other["ts"] < one["ts"] + one["dur"]


# In graphs.


@pytest.mark.usefixtures("graph")
def test_an_iterator_in_a_graph_is_where_its_elements_are():
    ds = v1.DatasetV1.from_tensor_slices({"x": ROWS, "s": list("abcdef")}).apply(
        experimental.prefetch_to_device("/gpu:1")
    )
    element = v1.make_one_shot_iterator(ds).get_next()
    doubled = element["x"] * 2.0
    with tf1.Session() as sess:
        assert "GPU:1" in str(sess.placement()[element["x"].op.name])
        for number in range(3):
            made, text = sess.run([doubled, element["s"]])
            np.testing.assert_array_equal(made, ROWS[number] * 2.0)
            assert text == b"abcdef"[number : number + 1]


@pytest.mark.usefixtures("graph")
def test_an_iterator_on_the_cpu_takes_elements_from_a_device_back():
    ds = v1.DatasetV1.from_tensor_slices(ROWS).apply(experimental.prefetch_to_device("/gpu:1"))
    iterator = v1.Iterator.from_structure(tf.float32, [4])
    begin, element = iterator.make_initializer(ds), iterator.get_next()
    with tf1.Session() as sess:
        sess.run(begin)
        assert "CPU:0" in str(sess.placement()[element.op.name])
        np.testing.assert_array_equal(sess.run(element), ROWS[0])
