"""``tf.summary.trace_on`` and ``trace_export``: the graphs that ran, as TensorBoard's plugin draws them."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest
from tensorboard import context
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins import base_plugin

import situs as tf
from situs import summary

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a library inside TensorBoard's plugins warns of itself
    from tensorboard.plugins.graph.graphs_plugin import GraphsPlugin


@pytest.fixture(autouse=True)
def _no_trace():
    yield
    summary.trace_off()


@tf.function
def double(x):
    return tf.multiply(x, 2.0, name="doubled")


@tf.function
def negate(x):
    return tf.negative(x, name="negated")


def export(folder, name="trace"):
    writer = summary.create_file_writer(folder)
    with writer.as_default():
        summary.trace_export(name, step=0)
    writer.close()


def drawn(folder, tag="trace"):
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder)).Reload()
    provider = MultiplexerDataProvider(multiplexer, str(folder))
    told = base_plugin.TBContext(
        data_provider=provider, flags=SimpleNamespace(generic_data="auto"), multiplexer=multiplexer, logdir=str(folder)
    )
    return GraphsPlugin(told).graph_impl(context.RequestContext(), ".", tag, False, "", None, None)[0]


def test_the_graphs_that_ran_are_drawn(tmp_path):
    double(tf.constant(1.0))  # known before: its program is remembered
    summary.trace_on(graph=True)
    double(tf.constant(1.0))
    double(tf.constant(2.0))
    export(tmp_path)
    text = drawn(tmp_path)
    assert text.count('name: "doubled"') == 1
    assert "negated" not in text


def test_calls_under_a_tape_are_drawn_too(tmp_path):
    summary.trace_on()
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = double(negate(x))
    assert float(tape.gradient(y, x)) == -2.0
    export(tmp_path)
    assert "negated" in drawn(tmp_path)


def test_a_trace_ends_with_its_export(tmp_path):
    summary.trace_on()
    export(tmp_path)
    with pytest.raises(ValueError, match=r"Must enable trace before export through tf\.summary\.trace_on"):
        export(tmp_path)


def test_what_cannot_be_is_told(caplog):
    with caplog.at_level("WARNING", logger="situs"):
        summary.trace_on(profiler=True)
        summary.trace_on()
    assert "No profile is taken" in caplog.text
    assert "Trace already enabled" in caplog.text
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match=r"inside a tf\.function"):
        summary.trace_export("x", step=0)
    with pytest.raises(TypeError):
        summary.trace_on(graph="x")
