"""``FileWriter``: what it writes is what TensorBoard reads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2, graph_pb2

import situs.compat.v1 as tf
from situs._src.summaries import event_file
from situs.compat.v1 import summary


def number(tag, value):
    return summary.Summary(value=[summary.Summary.Value(tag=tag, simple_value=value)])


def read(folder):
    found = EventAccumulator(str(folder), size_guidance={"tensors": 0, "scalars": 0})
    return found.Reload()


def events(folder):
    files = sorted(folder.iterdir())
    return [event_pb2.Event.FromString(raw) for file in files for raw in RawEventFileLoader(str(file)).Load()]


@pytest.fixture
def writer(tmp_path):
    with summary.FileWriter(tmp_path / "logs") as made:
        yield made


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [], name="x")
        with tf.name_scope("layer"), tf.device("/cpu:0"):
            tf.multiply(x, 2.0, name="y")
        yield made


def test_summaries_are_read_by_tensorboard(tmp_path):
    with summary.FileWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_summary(number("loss", step * 0.5), step)
        writer.add_summary(number("other", 1.0).SerializeToString(), np.int64(7))
        writer.add_summary(number("unnumbered", 1.0))
    found = read(tmp_path)
    assert found.Tags()["scalars"] == ["loss", "other", "unnumbered"]
    assert [(item.step, item.value) for item in found.Scalars("loss")] == [(n, n * 0.5) for n in range(5)]
    assert found.Scalars("other")[0].step == 7
    assert found.Scalars("unnumbered")[0].step == 0


def test_each_kind_of_summary_is_read(tmp_path, graph):
    summary.histogram("w", np.array([1.0, 2.0, 4.0], np.float32))
    summary.image("im", np.zeros((1, 4, 5, 3), np.uint8))
    summary.audio("au", np.zeros((1, 10), np.float32), 8000)
    summary.text("txt", tf.constant("hello"))
    with tf.Session() as sess, summary.FileWriter(tmp_path) as writer:
        writer.add_summary(sess.run(summary.merge_all()), 3)
    found = read(tmp_path)
    histogram = found.Histograms("w")[0].histogram_value
    assert (histogram.num, histogram.sum, histogram.min, histogram.max) == (3, 7, 1, 4)
    picture = found.Images("im/image/0")[0]
    assert (picture.step, picture.width, picture.height) == (3, 5, 4)
    assert found.Audio("au/audio/0")[0].sample_rate == 8000
    assert found.Tensors("txt")[0].tensor_proto.string_val == [b"hello"]
    assert found.SummaryMetadata("txt").plugin_data.plugin_name == "text"


def test_metadata_are_written_once_for_a_tag(tmp_path, graph):
    text = summary.text("txt", tf.constant("a"))
    with tf.Session() as sess, summary.FileWriter(tmp_path) as writer:
        given = summary.Summary.FromString(sess.run(text))
        for step in range(3):
            writer.add_summary(given, step)
    described = [event.summary.value[0].HasField("metadata") for event in events(tmp_path)[1:]]
    assert described == [True, False, False]
    assert given.value[0].HasField("metadata"), "the message of the program stays as it was"


def test_a_file_begins_with_its_version(writer):
    writer.flush()
    (event,) = events(tmp_path_of(writer))
    assert event.file_version == "brain.Event:2"
    assert event.wall_time > 0


def tmp_path_of(writer):
    from pathlib import Path

    return Path(writer.get_logdir())


# Graphs and reports.


def test_a_graph_is_drawn_by_tensorboard(tmp_path, graph):
    summary.FileWriter(tmp_path, graph).close()
    drawn = read(tmp_path).Graph()
    nodes = {node.name: node for node in drawn.node}
    assert nodes["layer/y"].op == "Mul"
    assert list(nodes["layer/y"].input) == ["x", "layer/y/y"]
    assert nodes["layer/y"].device == "/device:CPU:0"
    assert nodes["layer/y"].attr["T"].type == 1
    assert nodes["layer/y/y"].attr["value"].tensor.float_val == [2.0]
    assert "_output_shapes" in nodes["x"].attr
    assert len(read(tmp_path).MetaGraph().graph_def.node) == len(drawn.node)


def test_graphs_come_in_several_forms(tmp_path, graph):
    given = [{"graph": graph}, {"graph_def": graph.as_graph_def()}, {"graph": graph_pb2.GraphDef()}]
    with summary.FileWriter(tmp_path) as writer:
        for step, form in enumerate(given):
            writer.add_graph(global_step=step, **form)
    written = [event for event in events(tmp_path) if event.HasField("graph_def")]
    sizes = [len(graph_pb2.GraphDef.FromString(event.graph_def).node) for event in written]
    assert sizes == [3, 3, 0]
    assert [event.step for event in written] == [0, 1, 2]


def test_branches_and_loops_are_functions_of_the_library(tmp_path, graph):
    x = graph.get_tensor_by_name("x:0")
    tf.cond(x > 1, lambda: x + 1, lambda: x - 1, name="choose")
    summary.FileWriter(tmp_path, graph).close()
    functions = read(tmp_path).Graph().library.function
    assert {function.signature.name for function in functions} == {"choose:then_branch", "choose:else_branch"}


def test_a_graph_that_holds_python_objects_is_drawn_too(tmp_path, graph):
    tf.py_func(np.sin, [graph.get_tensor_by_name("x:0")], tf.float32, name="call")
    summary.FileWriter(tmp_path, graph).close()
    assert "call" in {node.name for node in read(tmp_path).Graph().node}


def test_what_a_run_took_is_read_by_tensorboard(tmp_path, graph):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as sess, summary.FileWriter(tmp_path) as writer:
        sess.run("layer/y:0", {"x:0": 1.0}, options=options, run_metadata=metadata)
        writer.add_run_metadata(metadata, "step 3", 3)
        with pytest.raises(ValueError, match="tag was already used for this event type"):
            writer.add_run_metadata(metadata, "step 3", 4)
    found = read(tmp_path).RunMetadata("step 3")
    names = {node.node_name for device in found.step_stats.dev_stats for node in device.node_stats}
    assert "layer/y" in names
    mine = metadata.step_stats.dev_stats[0].node_stats[0]
    theirs = next(d for d in found.step_stats.dev_stats if d.device == metadata.step_stats.dev_stats[0].device)
    assert theirs.node_stats[0].all_start_micros == mine.all_start_micros


def test_sessions_meta_graphs_and_events_are_written_as_they_are(tmp_path, graph):
    with summary.FileWriter(tmp_path) as writer:
        writer.add_session_log(summary.SessionLog(status=summary.SessionLog.START), 7)
        writer.add_meta_graph(tf.train.export_meta_graph(), 8)
        writer.add_event(summary.Event(step=9, wall_time=5.0, summary=number("a", 1.0)))
        writer.add_event(summary.Event())
    _, start, meta, event, empty = events(tmp_path)
    assert (start.step, start.session_log.status) == (7, summary.SessionLog.START)
    assert (meta.step, meta.WhichOneof("what")) == (8, "meta_graph_def")
    assert (event.step, event.wall_time) == (9, 5.0)
    assert empty == summary.Event()


# Its life.


def test_a_closed_writer_warns_and_does_nothing_until_it_is_reopened(tmp_path):
    writer = summary.FileWriter(tmp_path, filename_suffix=".mine")
    writer.close()
    writer.close()
    for use in (writer.flush, lambda: writer.add_summary(number("lost", 1.0))):
        with pytest.warns(UserWarning, match="closed FileWriter.*noop unless the FileWriter is explicitly reopened"):
            use()
    writer.reopen()
    writer.reopen()
    writer.add_summary(number("kept", 1.0), 1)
    writer.close()
    assert read(tmp_path).Tags()["scalars"] == ["kept"]
    assert [file.name.endswith(".mine") for file in tmp_path.iterdir()] == [True, True]


def test_what_waits_is_on_disk_after_a_flush(tmp_path):
    with summary.FileWriter(tmp_path) as writer:
        writer.add_summary(number("a", 1.0), 1)
        assert len(events(tmp_path)) == 1
        writer.flush()
        assert len(events(tmp_path)) == 2


@pytest.mark.parametrize("options", [{"max_queue": 2}, {"flush_secs": 0}])
def test_what_waits_goes_to_disk_when_it_is_much_or_old(tmp_path, options):
    with summary.FileWriter(tmp_path, **options) as writer:
        for step in range(3):
            writer.add_summary(number("a", 1.0), step)
        assert len(events(tmp_path)) == 4


def test_a_writer_that_nobody_closes_goes_to_disk_at_the_end(run_python, tmp_path):
    run_python(f"""
import situs.compat.v1 as tf
from situs.compat.v1 import summary
writer = summary.FileWriter({str(tmp_path / "logs")!r})
writer.add_summary(summary.Summary(value=[summary.Summary.Value(tag="last", simple_value=1.0)]), 1)
""")
    assert read(tmp_path / "logs").Tags()["scalars"] == ["last"]


def test_threads_may_share_a_writer(tmp_path):
    with summary.FileWriter(tmp_path, max_queue=3) as writer:

        def work(name):
            for step in range(50):
                writer.add_summary(number(name, step), step)

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = read(tmp_path)
    assert [[item.step for item in found.Scalars(f"t{n}")] for n in range(4)] == [list(range(50))] * 4


def test_one_writer_serves_a_folder(tmp_path):
    get = summary.FileWriterCache.get
    first = get(tmp_path)
    assert get(str(tmp_path)) is first
    assert get(tmp_path / "other") is not first
    summary.FileWriterCache.clear()
    assert get(tmp_path) is not first
    summary.FileWriterCache.clear()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        first.flush()


# Refusals.

WRONG = {
    "the op itself": (lambda w: w.add_summary(tf.constant(b"")), TypeError, r"Pass sess\.run\(op\), not the op itself"),
    "text": (lambda w: w.add_summary("text"), TypeError, "add_summary takes a tf.Summary"),
    "garbage": (lambda w: w.add_summary(b"\xff"), tf.errors.DataLossError, "no Summary message"),
    "a step of text": (lambda w: w.add_summary(b"", "x"), TypeError, "A step is a whole number, got 'x'"),
    "a step that is true": (lambda w: w.add_summary(b"", True), TypeError, "A step is a whole number, got True"),
    "a step of nan": (lambda w: w.add_summary(b"", float("nan")), ValueError, "64 bits, got nan"),
    "a huge step": (lambda w: w.add_summary(b"", 2**63), ValueError, "64 bits"),
    "no event": (lambda w: w.add_event(3), TypeError, r"An event is a tf\.Event, got 3"),
    "no graph": (lambda w: w.add_graph(None), TypeError, "must be an instance of `Graph`"),
    "a number as a graph": (lambda w: w.add_graph(3), TypeError, "must be an instance of `Graph`"),
    "two graphs": (lambda w: w.add_graph(tf.Graph(), graph_def=tf.GraphDef()), ValueError, "but not both"),
    "no meta graph": (lambda w: w.add_meta_graph(3), TypeError, "must be type MetaGraphDef"),
    "no session log": (lambda w: w.add_session_log(3), TypeError, "tf.SessionLog, got 3"),
    "no run metadata": (lambda w: w.add_run_metadata(tf.GraphDef(), "t"), TypeError, "tf.RunMetadata"),
    "a run without a tag": (lambda w: w.add_run_metadata(tf.RunMetadata(), 3), TypeError, "tag of a run is a string"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_event_is_refused(case, writer):
    use, kind, message = WRONG[case]
    with tf.Graph().as_default(), pytest.raises(kind, match=message):
        use(writer)


def test_a_refused_run_leaves_its_tag_free(writer):
    with pytest.raises(TypeError):
        writer.add_run_metadata(3, "t")
    with pytest.raises(TypeError):
        writer.add_run_metadata(tf.RunMetadata(), "t", "step")
    writer.add_run_metadata(tf.RunMetadata(), "t")


def test_metadata_that_could_not_be_written_are_written_later(tmp_path, graph):
    text = summary.text("txt", tf.constant("a"))
    with tf.Session() as sess, summary.FileWriter(tmp_path) as writer:
        given = sess.run(text)
        with pytest.raises(TypeError):
            writer.add_summary(given, "step")
        writer.close()
        with pytest.warns(UserWarning, match="closed FileWriter"):
            writer.add_summary(given, 0)
        writer.reopen()
        writer.add_summary(given, 1)
    (event,) = [event for event in events(tmp_path) if event.summary.value]
    assert event.summary.value[0].HasField("metadata")


def test_folders_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Not a directory"):
        summary.FileWriter(tmp_path / "file" / "sub")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file is not a directory"):
        summary.FileWriter(tmp_path / "file")
    with pytest.raises(tf.errors.UnimplementedError, match="scheme 'gs' not implemented"):
        summary.FileWriter("gs://bucket/logs")
    for folder in (None, 3):
        with pytest.raises(TypeError, match="Expected binary or unicode string"):
            summary.FileWriter(folder)
    with pytest.raises(ValueError, match="Leave `session` out"):
        summary.FileWriter(tmp_path, session=3)


def test_a_full_disk_is_a_shortage(tmp_path, monkeypatch):
    good = event_file.open_new
    monkeypatch.setattr(event_file, "open_new", lambda path: (good(path).close(), open("/dev/full", "wb"))[1])  # noqa: PTH123, SIM115
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left on device"):
        summary.FileWriter(tmp_path)


def test_a_folder_that_disappears_is_told(tmp_path):
    writer = summary.FileWriter(tmp_path)
    for file in tmp_path.iterdir():
        file.unlink()
    writer.add_summary(number("a", 1.0))
    with pytest.raises(tf.errors.NotFoundError, match="has disappeared"):
        writer.flush()
    writer.close()
