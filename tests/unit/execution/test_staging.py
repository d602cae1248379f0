"""What captured runs are fed: through memory that a card reads by itself.

Here the host stands in for the card, and ordinary memory for pinned memory; a card is used in tests/gpu/test_training.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.devices.physical import find_cards
from situs._src.runtime.plan import planner
from situs._src.runtime.run import capture_regions, cuda_graph, staging
from tests.unit.execution.test_capture import RUNS, Again, captured_in, chain

pytestmark = pytest.mark.skipif(bool(find_cards()), reason="pretends that the host is a card")


class Event:
    """An event that notes what happens to it."""

    log: list[tuple[str, int]] = []
    made = 0

    def __init__(self):
        self.number, Event.made = Event.made, Event.made + 1

    def synchronize(self):
        Event.log.append(("wait", self.number))

    def record(self, stream):
        Event.log.append(("record", self.number))


@pytest.fixture(autouse=True)
def card(monkeypatch):
    monkeypatch.setattr(staging, "crosses", lambda device: True)
    monkeypatch.setattr(staging, "pinned", lambda size: torch.full([size], 255, dtype=torch.uint8))
    monkeypatch.setattr(staging, "event", Event)
    monkeypatch.setattr(staging, "current_stream", lambda device: None)
    monkeypatch.setattr(staging, "raw_stream", lambda index: 0)
    monkeypatch.setattr(Event, "log", [])
    monkeypatch.setattr(Event, "made", 0)


@pytest.fixture
def as_cards(monkeypatch, fast):
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(planner, "_computes_beside_the_host", lambda device: device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)


def on_card(values):
    return staging.Block(values, lambda size: torch.zeros(size, dtype=torch.uint8))


def test_parts_of_a_block_are_apart_and_begin_where_kernels_can_read_them():
    like = [torch.zeros(3, dtype=torch.int8), torch.zeros(70, dtype=torch.float64), torch.tensor(1, dtype=torch.int64)]
    block = on_card(like)
    starts = [part.data_ptr() - block.whole.data_ptr() for part in block.parts]
    assert starts == [0, 256, 1024]
    assert block.whole.nbytes == 1280
    assert [(part.shape, part.dtype) for part in block.parts] == [(each.shape, each.dtype) for each in like]


DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.complex64,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [4, 40000])
def test_values_of_every_dtype_arrive(dtype, size):
    values = torch.arange(2 * size).remainder(2).reshape(2, size).to(dtype)
    buffer = torch.zeros(2, size, dtype=dtype)
    staging.Staging(None, {0: buffer}).send([values])
    assert torch.equal(buffer, values)


def test_rows_that_lie_apart_arrive():
    values = torch.arange(400000.0).reshape(2, -1)[:, ::2]
    buffer = torch.zeros(2, 100000)
    staging.Staging(None, {0: buffer}).send([values])
    assert torch.equal(buffer, values)


def test_small_values_cross_together_and_others_stay_where_they_are():
    given = [torch.tensor([1.0, 2.0]), torch.tensor(7), torch.tensor([True])]
    block = on_card([given[0], given[2]])
    sent = staging.Staging((block, [0, 2]), {})
    sent.send(given)
    assert [part.tolist() for part in block.parts] == [[1.0, 2.0], [True]]
    assert [len(half.crossings) for half in sent._halves] == [1, 1]


def test_a_half_is_written_when_the_card_has_read_it():
    sent = staging.Staging(None, {0: torch.zeros(3)})
    for number in range(3):
        sent.send([torch.full([3], float(number))])
    assert Event.log == [("wait", 0), ("record", 0), ("wait", 1), ("record", 1), ("wait", 0), ("record", 0)]


def test_the_stream_is_asked_for_anew_when_work_is_ordered_on_another(monkeypatch):
    asked, numbers = [], iter([5, 5, 6])
    monkeypatch.setattr(staging, "raw_stream", lambda index: next(numbers))
    monkeypatch.setattr(staging, "current_stream", lambda device: asked.append(device))
    sent = staging.Staging(None, {0: torch.zeros(3)})
    for _ in range(3):
        sent.send([torch.ones(3)])
    assert len(asked) == 2


def test_a_captured_session_computes_with_what_each_run_is_fed(as_cards):
    numbers = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [4, 5000]), tf.placeholder(tf.int64, [4])
        z = tf.placeholder(tf.float32, [])
        with tf.device("/gpu:0"):
            made = chain(x) * z + tf.cast(y, tf.float32)[:, None]
        for _ in range(RUNS):
            fed = (
                numbers.normal(size=(4, 5000)).astype(np.float32),
                numbers.integers(0, 9, 4),
                np.float32(numbers.normal()),
            )
            found = session.run(made, dict(zip((x, y, z), fed, strict=True)))
            expected = fed[0]
            for _ in range(capture_regions.SHORTEST):
                expected = np.tanh(expected)
            np.testing.assert_allclose(found, expected * fed[2] + fed[1][:, None], rtol=1e-5, atol=1e-6)
        (captured,) = captured_in(session)
        assert captured.replays == RUNS - cuda_graph.CAPTURED_AFTER
        assert len(captured._staging._halves[0].crossings) == 2  # x, and the others together
        assert not captured._direct


def test_a_captured_function_trains_on_the_batches_of_a_dataset(as_cards):
    rows = np.random.default_rng(1).normal(size=(40 * 8, 6)).astype(np.float32)
    batches = tf2.data.Dataset.from_tensor_slices(rows).batch(8)

    def train(device):
        with tf2.device(device):
            w = tf2.Variable(tf2.ones([6, 1]))

        @tf2.function
        def step(x):
            with tf2.device(device):
                error = tf2.matmul(x, w) - 1.0
                w.assign_sub(0.01 * tf2.matmul(x, error, transpose_a=True))
                return tf2.reduce_sum(error * error) + 0.0 * tf2.reduce_sum(tf2.tanh(tf2.tanh(x)))

        losses = [float(step(batch)) for batch in batches]
        return losses, w.numpy()

    (ours, w1), (theirs, w2) = train("/gpu:0"), train("/cpu:0")
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(w1, w2, rtol=1e-5)
    assert Event.log  # batches were staged
