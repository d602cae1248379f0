"""``tf.profiler.experimental``: traces of a part of a program."""

from __future__ import annotations

import gzip
import json

import pytest

import situs as tf
from situs.errors import AlreadyExistsError, UnavailableError

profiler = tf.profiler.experimental


def events_in(folder):
    [path] = folder.glob("plugins/profile/*/*.trace.json.gz")
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def test_a_trace_has_the_kernels_that_ran_and_the_spans_around_them(tmp_path):
    profiler.start(tmp_path)
    with profiler.Trace("train", step_num=7):
        tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
    profiler.stop()
    events = {event["name"]: event for event in events_in(tmp_path) if event.get("ph") == "X"}
    span, kernel = events["train#step_num=7#"], events["aten::mm"]
    assert span["ts"] <= kernel["ts"]
    assert kernel["ts"] + kernel["dur"] <= span["ts"] + span["dur"]


def test_a_context_is_profiled_also_when_it_ends_by_an_error(tmp_path):
    def fail():
        with profiler.Profile(str(tmp_path), profiler.ProfilerOptions(2, 0, 0)):
            tf.tanh(tf.ones([4]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert any(event["name"] == "aten::tanh" for event in events_in(tmp_path))


def test_nothing_is_written_that_is_not_to_be_saved(tmp_path):
    profiler.start(tmp_path)
    profiler.stop(save=False)
    assert not list(tmp_path.iterdir())


def test_one_profiler_runs_at_a_time(tmp_path):
    with pytest.raises(UnavailableError, match="No profiler is running"):
        profiler.stop()
    profiler.start(tmp_path)
    try:
        with pytest.raises(AlreadyExistsError, match="Another profiler is running"):
            profiler.start(tmp_path)
    finally:
        profiler.stop(save=False)


def test_a_span_outside_of_a_profile_does_nothing():
    with profiler.Trace("train", step_num=1) as span:
        span.set_metadata(_r=1)
        assert float(tf.constant(2.0) * 3.0) == 6.0


def test_nonsense_is_refused(tmp_path):
    with pytest.raises(TypeError, match="ProfilerOptions"):
        profiler.start(tmp_path, {"host_tracer_level": 2})
    with pytest.raises(TypeError, match="string"):
        profiler.Trace(3)
