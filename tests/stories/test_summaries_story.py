"""Programs that log their training, read back by the server side of TensorBoard: its plugins and what they ask for."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from tensorboard import context
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins import base_plugin

import situs as tf
import situs.compat.v1 as tf1
from situs import summary
from situs.compat.v1 import summary as summary1

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a library inside TensorBoard's plugins warns of itself
    from tensorboard.plugins.graph.graphs_plugin import GraphsPlugin
    from tensorboard.plugins.scalar.scalars_plugin import ScalarsPlugin

HERE = context.RequestContext()


def board(folder):
    """What TensorBoard knows of a folder: its plugins for scalars and graphs, and the provider of their data."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(folder)).Reload()
    provider = MultiplexerDataProvider(multiplexer, str(folder))
    flags = SimpleNamespace(generic_data="auto")
    told = base_plugin.TBContext(data_provider=provider, flags=flags, multiplexer=multiplexer, logdir=str(folder))
    return SimpleNamespace(provider=provider, scalars=ScalarsPlugin(told), graphs=GraphsPlugin(told))


def scalars(found, tag, run):
    return [(step, value) for _, step, value in found.scalars.scalars_impl(HERE, tag, run, "", 100)[0]]


def test_a_session_logs_its_training(tmp_path):
    x = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
    with tf1.Graph().as_default():
        inputs = tf1.placeholder(tf1.float32, [None, 1], name="inputs")
        with tf1.name_scope("layer"):
            weight = tf1.Variable(tf1.zeros([1, 1]), name="weight")
            summary1.histogram("weights", weight)
            output = tf1.matmul(inputs, weight)
        loss = tf1.reduce_mean(tf1.square(output - 3 * inputs), name="loss_value")
        summary1.scalar("loss", loss)
        step = tf1.train.get_or_create_global_step()
        train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss, step)
        merged = summary1.merge_all()
        with tf1.Session() as sess:
            sess.run(tf1.global_variables_initializer())
            writer = summary1.FileWriter(tmp_path / "train", sess.graph)
            losses = []
            for _ in range(10):
                text, now, value, _ = sess.run([merged, step, loss, train], {inputs: x})
                writer.add_summary(text, now)
                losses.append(float(value))
            metadata = tf1.RunMetadata()
            sess.run(train, {inputs: x}, tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), metadata)
            writer.add_run_metadata(metadata, "one step", 10)
            writer.close()

    found = board(tmp_path)
    logged = scalars(found, "loss", "train")
    assert [value for _, value in logged] == pytest.approx(losses)
    assert losses[-1] < losses[0] / 10
    drawn = found.graphs.graph_impl(HERE, "train", None, False, "", None, None)[0]
    assert 'name: "layer/weight"' in drawn
    assert 'name: "loss_value"' in drawn
    timed = found.graphs.run_metadata_impl(HERE, "", "train", "one step")[0]
    assert "node_stats" in timed


def test_an_eager_loop_logs_two_runs(tmp_path):
    x = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32)[:, None])
    weight = tf.Variable([[0.0]])
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) - 3 * x))
        weight.assign_sub(0.5 * tape.gradient(loss, weight))
        summary.scalar("loss", loss, step=step)
        with summary.record_if(tf.equal(step % 5, 0)):
            summary.histogram("weights", weight, step=step)
        step.assign_add(1)

    logs = {name: summary.create_file_writer(tmp_path / name) for name in ("train", "test")}
    for _ in range(10):
        with logs["train"].as_default():
            train()
        with logs["test"].as_default():
            error = tf.reduce_max(tf.abs(weight - 3.0))
            summary.scalar("error", error, step=step)
            summary.image("line", tf.reshape(tf.clip_by_value(tf.matmul(x, weight), 0, 1), [1, 4, 8, 1]), step=step)
    for writer in logs.values():
        writer.close()

    found = board(tmp_path)
    index = found.scalars.index_impl(HERE, "")
    assert {run: set(tags) for run, tags in index.items()} == {"train": {"loss"}, "test": {"error"}}
    losses = scalars(found, "loss", "train")
    assert [number for number, _ in losses] == list(range(10))
    assert losses[-1][1] < losses[0][1] / 10
    assert [number for number, _ in scalars(found, "error", "test")] == list(range(1, 11))
    histograms = found.provider.read_tensors(HERE, experiment_id="", plugin_name="histograms", downsample=100)
    assert [datum.step for datum in histograms["train"]["weights"]] == [0, 5]
    pictures = found.provider.list_blob_sequences(HERE, experiment_id="", plugin_name="images")
    assert pictures["test"]["line"].max_length == 3  # the width, the height and one file
