"""The trace of a step; the expected events were recorded from TensorFlow 2.21 for the same statistics."""

from __future__ import annotations

import json

import pytest

from situs._src.base.proto.stats import RunMetadata, StepStats
from situs._src.runtime.session.timeline import Timeline
from situs.errors import DTypeError, InvalidArgumentError, UnimplementedError

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def add(device, name, label, start, end, out=(), allocator="GPU_0_bfc"):
    node = device.node_stats.add(
        node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=end - start, thread_id=9
    )
    for slot, size in enumerate(out):
        description = node.output.add(slot=slot).tensor_description
        description.dtype = 1
        description.shape.dim.add(size=2)
        description.allocation_description.requested_bytes = size
        description.allocation_description.allocator_name = allocator


@pytest.fixture
def stats() -> StepStats:
    r"""Three ops that overlap on a card, one on the CPU that uses two of them.

    GPU   a ------
             b ------        b uses a, c uses a and b
                c ---
    CPU                d -   d uses c, and b through a receiving node
    """
    stats = StepStats()
    gpu, cpu = stats.dev_stats.add(device=GPU), stats.dev_stats.add(device=CPU)
    add(gpu, "a", "a = Neg(x)", 100, 200, [8])
    add(gpu, "b", "b = Add(a, a:1, ^c)", 150, 250, [16])
    add(gpu, "c", "c = MatMul(a, b)", 200, 260, [16])
    add(cpu, "d", "d = Sub(b/_3, c)", 300, 301, [8], allocator="cpu")
    return stats


def events(stats, **options):
    trace = json.loads(Timeline(stats).generate_chrome_trace_format(**options))
    assert list(trace) == ["traceEvents"]
    return trace["traceEvents"]


def of(phase, found):
    return [event for event in found if event["ph"] == phase]


def test_every_device_is_two_processes_after_the_allocators(stats):
    names = [(event["pid"], event["args"]["name"]) for event in of("M", events(stats))]
    assert names == [
        (0, "Allocators"),
        (1, f"{GPU} Compute"),
        (2, f"{GPU} Tensors"),
        (3, f"{CPU} Compute"),
        (4, f"{CPU} Tensors"),
    ]
    assert of("M", events(stats))[0] == {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Allocators"}}


def test_an_op_is_a_complete_event_with_its_inputs(stats):
    assert of("X", events(stats))[1] == {
        "ph": "X",
        "cat": "Op",
        "name": "Add",
        "pid": 1,
        "tid": 1,
        "ts": 150,
        "dur": 100,
        "args": {"name": "b", "op": "Add", "input0": "a", "input1": "a:1", "input2": "^c"},
    }


def test_ops_that_overlap_or_touch_are_in_different_lanes(stats):
    assert [(event["args"]["name"], event["tid"]) for event in of("X", events(stats))] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
        ("d", 0),
    ]


def test_a_lane_is_used_again_when_it_is_free():
    stats = StepStats()
    device = stats.dev_stats.add(device=CPU)
    for i in range(50):
        add(device, f"n{i}", "", 10 * i, 10 * i + 15)
    lanes = [event["tid"] for event in of("X", events(stats))]
    assert set(lanes) == {0, 1}
    assert lanes[0] == 0


def test_arrows_go_from_the_maker_to_the_user_in_another_lane(stats):
    found = events(stats)
    arrows = [
        (s["name"], s["id"], (s["pid"], s["tid"], s["ts"]), (t["pid"], t["tid"], t["ts"]))
        for s, t in zip(of("s", found), of("t", found), strict=True)
    ]
    assert arrows == [
        ("a", 0, (1, 0, 200), (1, 1, 150)),
        ("a", 1, (1, 0, 200), (1, 2, 200)),
        ("b", 2, (1, 1, 250), (1, 2, 200)),
        ("b", 3, (1, 1, 250), (3, 0, 300)),
        ("c", 4, (1, 2, 260), (3, 0, 300)),
    ]
    assert {event["cat"] for event in of("s", found)} == {"DataFlow"}


def test_no_arrow_within_a_lane():
    stats = StepStats()
    device = stats.dev_stats.add(device=CPU)
    add(device, "a", "a = Neg(x)", 10, 20, [8])
    add(device, "b", "b = Neg(a)", 30, 40, [8])
    assert of("s", events(stats)) == []


def test_arrows_can_be_left_out(stats):
    found = events(stats, show_dataflow=False)
    assert of("s", found) + of("t", found) == []
    assert len(of("X", found)) == 4


def test_memory_shows_the_life_of_tensors(stats):
    found = events(stats, show_memory=True)
    assert of("N", found)[1] == {"ph": "N", "cat": "Tensor", "name": "b", "pid": 2, "tid": 1, "ts": 150, "id": 1}
    snapshot = of("O", found)[0]
    assert snapshot["ts"] == 199
    assert snapshot["args"]["snapshot"]["tensor_description"] == (
        "dtype: DT_FLOAT\nshape {\n  dim {\n    size: 2\n  }\n}\n"
        "allocation_description {\n  requested_bytes: 8\n  allocator_name: GPU_0_bfc\n}\n"
    )
    deaths = [(event["name"], event["pid"], event["tid"], event["ts"], event["id"]) for event in of("D", found)]
    assert deaths == [("a", 2, 0, 259, 0), ("b", 2, 0, 300, 1), ("c", 2, 0, 300, 2), ("d", 4, 0, 301, 3)]


def test_memory_counts_what_each_allocator_has_given_out(stats):
    counters = [(event["name"], event["ts"], event["args"]) for event in of("C", events(stats, show_memory=True))]
    assert counters == [
        ("GPU_0_bfc", 100, {"GPU_0_bfc": 8}),
        ("GPU_0_bfc", 150, {"GPU_0_bfc": 24}),
        ("GPU_0_bfc", 200, {"GPU_0_bfc": 40}),
        ("GPU_0_bfc", 259, {"GPU_0_bfc": 32}),
        ("GPU_0_bfc", 300, {"GPU_0_bfc": 16}),
        ("GPU_0_bfc", 300, {"GPU_0_bfc": 0}),
        ("cpu", 300, {"cpu": 8}),
        ("cpu", 301, {"cpu": 0}),
    ]


def test_memory_is_left_out_unless_asked_for(stats):
    assert {event["ph"] for event in events(stats)} == {"M", "X", "s", "t"}


@pytest.mark.parametrize(
    ("device", "name", "label", "op", "shown"),
    [
        (CPU, "n", "n = Neg(x)", "Neg", {"name": "n", "op": "Neg", "input0": "x"}),
        (CPU, "_SOURCE", "_SOURCE = NoOp()", "NoOp", {"name": "_SOURCE", "op": "NoOp"}),
        (CPU, "n", "", "unknown", {"name": "n", "op": "unknown"}),
        (CPU, "n", "unknown", "unknown", {"name": "n", "op": "unknown"}),
        (CPU, "n", "n = Neg", "unknown", {"name": "n", "op": "unknown"}),
        (CPU, "n", "n = Neg(x", "unknown", {"name": "n", "op": "unknown"}),
        (CPU, "RecvTensor", "[8B] edge_6_b from x to y", "RecvTensor", {"name": "RecvTensor", "op": "RecvTensor"}),
        ("/device:GPU:0/stream:all", "a:Neg", "", "Neg", {"name": "a", "op": "Neg"}),
        ("/device:GPU:0/stream:all", "k", "k@@a:Neg#id=1#", "Neg", {"name": "a", "op": "Neg"}),
        ("/device:GPU:0/memcpy", "edge_1_a:MEMCPYDtoH", "edge", "MEMCPYDtoH", {"name": "edge_1_a", "op": "MEMCPYDtoH"}),
        ("/device:GPU:0/memcpy", "a", "a = Neg(x)", "unknown", {"name": "a", "op": "unknown"}),
    ],
)
def test_labels_are_read_as_far_as_they_go(device, name, label, op, shown):
    stats = StepStats()
    add(stats.dev_stats.add(device=device), name, label, 10, 20)
    (event,) = of("X", events(stats))
    assert (event["name"], event["args"]) == (op, shown)


def test_an_empty_step_has_only_the_allocators():
    assert [event["args"]["name"] for event in events(StepStats(), show_memory=True)] == ["Allocators"]


def test_a_node_that_ran_twice_and_one_that_ended_before_it_began():
    stats = StepStats()
    device = stats.dev_stats.add(device=CPU)
    add(device, "a", "a = Neg(x)", 10, 20, [8])
    add(device, "a", "a = Neg(x)", 30, 25, [8])
    add(device, "b", "b = Neg(a)", 31, 40)
    found = events(stats, show_memory=True)
    assert [event["dur"] for event in of("X", found)] == [10, 0, 9]
    assert [event["name"] for event in of("D", found)] == ["a"]


def test_the_statistics_are_only_read(stats):
    before = stats.SerializeToString()
    first = Timeline(stats, graph=object()).generate_chrome_trace_format(show_memory=True)
    timeline = Timeline(stats)
    assert timeline.generate_chrome_trace_format(show_memory=True) == first
    assert timeline.generate_chrome_trace_format(show_memory=True) == first
    assert stats.SerializeToString() == before


@pytest.mark.parametrize("wrong", [None, 3, RunMetadata(), {}])
def test_only_step_stats_make_a_timeline(wrong):
    with pytest.raises(DTypeError, match=r"such as run_metadata.step_stats; got a"):
        Timeline(wrong)


def test_times_are_those_of_the_schedule(stats):
    for op_time in ("gpu", "all"):
        with pytest.raises(UnimplementedError, match="schedule"):
            Timeline(stats).generate_chrome_trace_format(op_time=op_time)
    with pytest.raises(InvalidArgumentError, match="got 'cpu'"):
        Timeline(stats).generate_chrome_trace_format(op_time="cpu")
