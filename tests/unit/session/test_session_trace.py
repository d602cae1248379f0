"""What a traced run tells: statistics by device, parts of the graph, the timeline."""

from __future__ import annotations

import json

import pytest

import situs.compat.v1 as tf
from situs.python.client import timeline

LOCAL = "/job:localhost/replica:0/task:0"
FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)


@pytest.fixture
def traced():
    """A run over the host and three GPUs: one tensor goes to two devices, on one of them to two operations."""
    with tf.Graph().as_default(), tf.Session() as sess:
        p = tf.placeholder(tf.float32, [2], name="p")
        with tf.device("/gpu:1"):
            n, v = tf.negative(p, name="n"), tf.Variable([1.0, 1.0], name="v")
        with tf.device("/gpu:2"):
            a, b = tf.exp(n, name="a"), tf.sin(n, name="b")
            c = tf.add(a, v, name="c")
        with tf.device("/gpu:3"):
            d = tf.tanh(n, name="d")
        with tf.device("/cpu:0"):
            e = tf.add_n([b, c, d], name="e")
        sess.run(v.initializer)
        metadata = tf.RunMetadata()
        sess.run(e, {p: [1, 2]}, options=FULL, run_metadata=metadata)
        yield metadata


def test_each_device_has_its_statistics(traced):
    found = {stats.device: [node.node_name for node in stats.node_stats] for stats in traced.step_stats.dev_stats}
    assert list(found) == [f"{LOCAL}/device:{name}" for name in ("CPU:0", "GPU:1", "GPU:2", "GPU:3")]
    assert "e" in found[f"{LOCAL}/device:CPU:0"]
    assert {"n", "v", "v/read"} < set(found[f"{LOCAL}/device:GPU:1"])
    assert {"a", "b", "c"} < set(found[f"{LOCAL}/device:GPU:2"])


def test_an_operation_has_its_times_and_sizes(traced):
    nodes = {node.node_name: node for stats in traced.step_stats.dev_stats for node in stats.node_stats}
    c = nodes["c"]
    assert c.timeline_label == "c = AddV2(a, v/read)"
    assert c.all_start_micros > nodes["n"].all_start_micros - 1
    assert c.all_end_rel_micros >= c.op_end_rel_micros > 0
    assert c.output[0].tensor_description.allocation_description.requested_bytes == 8
    assert c.output[0].tensor_description.dtype == tf.float32.as_datatype_enum
    assert [dim.size for dim in c.output[0].tensor_description.shape.dim] == [2]
    assert (c.memory[0].allocator_name, c.memory[0].total_bytes) == ("GPU_2_bfc", 8)


def edges(traced, op):
    return sorted(
        (
            node.attr["_src"].s.decode(),
            node.attr["send_device"].s[-5:].decode(),
            node.attr["recv_device"].s[-5:].decode(),
        )
        for graph in traced.partition_graphs
        for node in graph.node
        if node.op == op
    )


def test_there_is_one_pair_for_each_tensor_and_destination(traced):
    expected = [
        ("_arg_p_0_0", "CPU:0", "GPU:1"),
        ("b", "GPU:2", "CPU:0"),
        ("c", "GPU:2", "CPU:0"),
        ("d", "GPU:3", "CPU:0"),
        ("n", "GPU:1", "GPU:2"),
        ("n", "GPU:1", "GPU:3"),
        ("v/read", "GPU:1", "GPU:2"),
    ]
    assert edges(traced, "_Send") == expected
    assert edges(traced, "_Recv") == expected


def test_pairs_are_named_after_what_crosses(traced):
    by_name: dict[bytes, list[str]] = {}
    for graph in traced.partition_graphs:
        for node in graph.node:
            if node.op in ("_Send", "_Recv"):
                by_name.setdefault((node.attr["tensor_name"].s, node.attr["recv_device"].s), []).append(node.op)
    assert all(sorted(pair) == ["_Recv", "_Send"] for pair in by_name.values())
    assert {name.partition(b"_")[0] for name, _ in by_name} == {b"edge"}


def test_a_part_lies_on_one_device_and_is_closed_in_itself(traced):
    assert len(traced.partition_graphs) == 4
    for graph in traced.partition_graphs:
        assert len({node.device for node in graph.node}) == 1
        known = {node.name for node in graph.node}
        assert len(known) == len(graph.node)
        assert all(name.lstrip("^").partition(":")[0] in known for node in graph.node for name in node.input)


def test_logical_cpus_exchange_tensors_too():
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            n = tf.negative(tf.constant([1.0]), name="n")
        with tf.device("/cpu:2"):
            a = tf.exp(n, name="a")
        sess = tf.Session(config=tf.ConfigProto(device_count={"CPU": 3, "GPU": 0}))
        metadata = tf.RunMetadata()
        sess.run(a, options=FULL, run_metadata=metadata)
        assert edges(metadata, "_Send") == [("a", "CPU:2", "CPU:0"), ("n", "CPU:1", "CPU:2")]


def test_the_timeline_draws_each_device(traced):
    drawn = json.loads(timeline.Timeline(traced.step_stats).generate_chrome_trace_format(show_memory=True))
    processes = [event["args"]["name"] for event in drawn["traceEvents"] if event["ph"] == "M"]
    assert processes[0] == "Allocators"
    assert f"{LOCAL}/device:GPU:2 Compute" in processes
    assert {"n", "a", "b", "c", "d", "e"} <= {e["args"]["name"] for e in drawn["traceEvents"] if e["ph"] == "X"}
    assert any(event["ph"] == "s" for event in drawn["traceEvents"])


@pytest.mark.parametrize(
    ("options", "stats", "graphs"),
    [
        (None, False, False),
        (tf.RunOptions(), False, False),
        (tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE), True, False),
        (tf.RunOptions(output_partition_graphs=True), False, True),
        (FULL, True, True),
    ],
)
def test_only_what_was_asked_for_is_told(options, stats, graphs):
    with tf.Graph().as_default(), tf.Session() as sess:
        c = tf.constant(1.0) + 1.0
        metadata = tf.RunMetadata()
        for _ in range(2):  # what it held is replaced
            assert sess.run(c, options=options, run_metadata=metadata) == 2.0
        assert bool(metadata.step_stats.dev_stats) is stats
        assert bool(metadata.partition_graphs) is graphs


def test_calls_side_by_side_are_traced_as_well():
    from situs._src.ops.python_function import py_func

    with tf.Graph().as_default(), tf.Session() as sess:
        made = [py_func(lambda x: x + 1.0, [tf.constant(float(i))], tf.float32, name=f"f{i}") for i in range(3)]
        metadata = tf.RunMetadata()
        assert sess.run(made, options=FULL, run_metadata=metadata) == [1.0, 2.0, 3.0]
        names = {node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
        assert {"f0", "f1", "f2"} <= names
