"""Which plans can be captured as CUDA graphs; that captured ones are right is tested on a card (tests/gpu)."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs.devices.logical import Device
from situs.execution import capture
from situs.session.fetches import Fetches


@pytest.fixture
def as_cards(monkeypatch):
    """Lets virtual GPUs count as cards, for the question whether a plan could be captured."""
    monkeypatch.setattr(Device, "is_virtual", property(lambda device: False))


def plan_of(*fetches, feeds=()):
    session = tf.Session()
    return session._program(Fetches(session.graph, list(fetches)), list(feeds)).plan


def chain(x, count=capture.SHORTEST):
    for _ in range(count):
        x = tf.tanh(x)
    return x


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_work_of_one_card_between_feeds_and_fetches(as_cards):
    x = tf.placeholder(tf.float32, [2])
    parts = capture.parts_of(plan_of(chain(x), feeds=[x]))
    assert [len(parts.before), len(parts.work), len(parts.after)] == [1, capture.SHORTEST, 1]


def test_variables_are_brought_in(as_cards):
    v = tf.Variable([1.0, 2.0])
    parts = capture.parts_of(plan_of(chain(v * 2.0)))
    assert parts is not None
    assert len(parts.incoming) == 1


@pytest.mark.virtual
def test_virtual_gpus_are_not_captured():
    x = tf.placeholder(tf.float32, [2])
    assert capture.parts_of(plan_of(chain(x), feeds=[x])) is None


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.tanh(x),
        lambda x: chain(x) + tf.random_normal([2]),
        lambda x: chain(tf.reshape(chain(x), tf.cast(tf.abs(x) + 1.0, tf.int32))),
        lambda x: tf.Variable([1.0, 2.0]).assign(chain(x)),
    ],
    ids=["too short", "random numbers", "read on the host", "an assignment"],
)
def test_what_is_not_captured(as_cards, build):
    x = tf.placeholder(tf.float32, [2])
    assert capture.parts_of(plan_of(build(x), feeds=[x])) is None


def test_work_that_comes_back_to_the_card_is_not_captured(as_cards):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        first = chain(x)
    with tf.device("/cpu:0"):
        between = tf.tanh(first)
    with tf.device("/gpu:0"):
        last = chain(between)
    assert capture.parts_of(plan_of(last, feeds=[x])) is None
