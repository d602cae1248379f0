"""What is placed when, and what stays where it is."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import Run, State
from situs._src.runtime.run.trace import Recorder


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def engine_of(graph, **options):
    return Engine(graph, process.devices(), **options)


def device_of(engine, tensor):
    return engine.placement()[tensor.op].device.short_name


def test_a_graph_is_placed_once_and_again_when_it_has_grown(graph):
    tf.constant(1.0)
    engine = engine_of(graph)
    first = engine.placement()
    assert engine.placement() is first
    tf.constant(2.0)
    assert engine.placement() is not first
    assert engine.version == 2


def test_following_a_graph_places_what_came_new(graph):
    tf.constant(1.0)
    engine = engine_of(graph)
    engine.follow()
    with tf.device("/gpu:9"):
        tf.constant(2.0, name="bad")
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        engine.follow()


def test_following_places_nothing_where_runs_place_their_own(graph, capsys):
    with tf.device("/gpu:9"):
        tf.constant(2.0)
    engine = engine_of(graph, pruned=True, log=True)
    engine.follow()
    assert engine.version == len(graph)
    assert capsys.readouterr().out == ""


def test_state_stays_and_the_rest_follows(graph):
    v = tf.Variable(1.0, name="v")
    c = tf.constant([1.0])
    engine = engine_of(graph)
    assert device_of(engine, v) == "GPU:0"
    assert device_of(engine, c) == "GPU:0"
    with tf.device("/gpu:2"):
        tf.exp(c)
    v.op._set_device("/gpu:2")
    assert device_of(engine, v) == "GPU:0"
    assert device_of(engine, c) == "GPU:2"  # its only consumer is there
    assert device_of(engine_of(graph), v) == "GPU:2"


def test_soft_and_default_devices(graph):
    with tf.device("/gpu:9"):
        bad = tf.exp(tf.constant(1.0))
    free = tf.sin(tf.constant(1.0))
    cpu = next(device for device in process.devices() if device.type == "CPU")
    engine = engine_of(graph, soft=True, default=cpu)
    assert device_of(engine, free) == "CPU:0"
    assert device_of(engine, bad) in ("CPU:0", "GPU:0")


def test_programs_compute(graph):
    p = tf.placeholder(tf.float32, [2])
    doubled = p * 2.0
    program = engine_of(graph).program([(p, host())], [(doubled, host())])
    import torch

    (made,) = program.run(Run(State()), [torch.tensor([1.0, 2.0])])
    assert made.tolist() == [2.0, 4.0]


# When a run is over.


@pytest.mark.parametrize("recorder", [None, Recorder()])
@pytest.mark.parametrize("stoppable", [False, True])
def test_a_run_that_fetches_nothing_is_over_when_the_cards_are_done(graph, monkeypatch, recorder, stoppable):
    waited = []
    monkeypatch.setattr(Program, "_wait", lambda program: waited.append(program))
    done = tf.group(tf.exp(tf.constant([1.0])))
    program = engine_of(graph).program([], [], [done])
    assert program.run(Run(State()), [], recorder, stoppable) == ()
    assert waited == [program]
