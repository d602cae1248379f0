"""Recordings: what came and went, and what was alive at the peak."""

from __future__ import annotations

import gc
import json
import threading
import time

import pytest

import situs as tf
from situs import memory
from situs._src.base.devices.inventory import process
from situs.errors import InvalidArgumentError, NotFoundError, ResourceExhaustedError
from tests.conftest import STUCK

KIB = 2**10
GPU = "GPU:3"  # one that other tests leave alone


@pytest.fixture(autouse=True)
def base():
    """Runs the test on a GPU of its own; gives what earlier tests have left there."""
    gc.collect()
    with tf.device(f"/{GPU}"):
        yield account().usage().current


def block(kib):
    """A tensor of so many KiB."""
    return tf.ones([kib, KIB // 4])


def account():
    return next(device.account for device in process.devices() if device.short_name == GPU)


def own(recording):
    """The events of this file's tensors on the GPU."""
    return [event for event in recording.events if event.device.endswith(GPU) and event.file == __file__]


def sizes(recording):
    return [event.size // KIB for event in own(recording)]


def alive(peak):
    """(count, KiB) of the holders that are this file's."""
    return [(holder.count, holder.size // KIB) for holder in peak.holders if holder.file == __file__]


def test_events_are_what_came_and_went_in_order():
    with memory.record() as recording:
        a = block(3)
        b = block(5)
        del a
        c = block(2)
        del b, c
    assert sizes(recording) == [3, 5, -3, 2, -5, -2]
    first = own(recording)[0]
    assert (first.op, first.device) == ("Full", f"/job:localhost/replica:0/task:0/device:{GPU}")
    assert first.caller.startswith("test_recording.py:")
    times = [event.time for event in recording.events]
    assert times == sorted(times)
    assert abs(times[-1] - time.time_ns()) < 60e9


def test_the_peak_says_what_was_alive_then(base):
    with memory.record() as recording:
        kept = block(100)
        both = [block(300), block(300)]
        del both
        late = [block(1) for _ in range(50)]
    peak = recording.peak(GPU)
    assert peak.size == base + 700 * KIB
    assert alive(peak) == [(2, 600), (1, 100)]
    assert alive(peak.by_line()) == [(3, 700)]
    assert sum(holder.size for holder in peak.by_op().holders) == peak.size
    assert peak.limit == account().limit
    assert peak.time == max(event.time for event in own(recording) if event.size == 300 * KIB)
    del kept, late


def test_the_peak_is_the_ledgers():
    with memory.record() as recording:
        account().reset_peak()
        kept = [block(4) for _ in range(5)]
        del kept[1:3]
        kept.append(block(7))
    assert recording.peak(GPU).size == account().usage().peak


def test_what_is_held_at_the_start_came_then(base):
    before = block(8)
    with memory.record() as recording:
        after = block(2)
        del before
    assert sizes(recording) == [8, 2, -8]
    assert recording.peak(GPU).size == base + 10 * KIB
    del after


def test_by_default_the_fullest_gpu():
    with memory.record() as recording:
        one = block(1)
        with tf.device("/gpu:1"):
            two = block(100_000)
    assert recording.peak().name.endswith("GPU:1")
    del one, two


def test_it_can_be_asked_while_it_runs(base):
    with memory.record() as recording:
        kept = block(4)
        assert recording.peak(GPU).size == base + 4 * KIB
        assert sizes(recording) == [4]
        del kept
        assert sizes(recording) == [4, -4]


def test_after_its_end_it_does_not_change():
    with memory.record() as recording:
        kept = block(4)
    del kept
    more = block(7)
    assert sizes(recording) == [4]
    del more


def test_it_ends_when_the_program_fails_and_can_still_be_asked(base):
    limit = account().limit
    kept = []
    with pytest.raises(ResourceExhaustedError), memory.record() as recording:  # noqa: PT012
        kept.append(block(6))
        tf.ones([limit])
    assert recording.peak(GPU).size == base + 6 * KIB
    with memory.record() as again:
        pass
    assert sizes(again) == [6]


def test_a_variable_is_called_by_its_name_from_when_it_holds_a_value():
    with memory.record() as recording:
        v = tf.Variable(block(64), name="weights")
        for _ in range(3):
            v.assign_add(block(64))
    held: dict[str, int] = {}
    for event in own(recording):
        held[event.op] = held.get(event.op, 0) + event.size
    assert {op.removesuffix(":0"): size for op, size in held.items() if size} == {"Variable weights": 64 * KIB}
    assert recording.peak(GPU).size == account().usage().current + 2 * 64 * KIB


def test_when_something_went_is_known_without_anyone_asking(monkeypatch):
    with memory.record() as recording:
        looked = threading.Event()
        kept = block(4)
        del kept
        usage = type(account()).usage

        def usage_and_say(self):
            found = usage(self)
            looked.set()
            return found

        monkeypatch.setattr(type(account()), "usage", usage_and_say)
        assert looked.wait(STUCK)
        asked = time.time_ns()
        time.sleep(0.01)
    assert recording.events[-1].time <= asked


# Several recordings.


def test_recordings_nest(base):
    with memory.record() as outer:
        a = block(1)
        b = block(2)
        del a
        with memory.record() as inner:
            c = block(4)
            del b
        d = block(8)
    assert sizes(outer) == [1, 2, -1, 4, -2, 8]
    assert sizes(inner) == [2, 4, -2]
    assert inner.peak(GPU).size == base + 6 * KIB
    assert alive(inner.peak(GPU)) == [(1, 4), (1, 2)]
    begin = min(event.time for event in inner.events)
    assert begin > max(event.time for event in own(outer) if event.size in (KIB, 2 * KIB))
    del c, d


def test_recordings_may_overlap():
    first, second = memory.record(), memory.record()
    one = first.__enter__()
    a = block(1)
    two = second.__enter__()
    b = block(2)
    first.__exit__(None, None, None)
    c = block(4)
    second.__exit__(None, None, None)
    assert sizes(one) == [1, 2]
    assert sizes(two) == [1, 2, 4]
    del a, b, c


def test_one_after_the_other():
    for number in range(1, 4):
        with memory.record() as recording:
            kept = block(number)
            del kept
        assert sizes(recording) == [number, -number]


def test_threads_may_record(base):
    found = []

    def work():
        with memory.record() as recording, tf.device(f"/{GPU}"):
            for _ in range(50):
                block(1)
        found.append(recording)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(sum(size > 0 for size in sizes(recording)) >= 50 for recording in found)
    assert all(recording.peak(GPU).size <= base + 8 * KIB for recording in found)
    with memory.record() as recording:
        pass
    assert sizes(recording) == []


# As text and data.


def test_the_summary_says_what_was_alive():
    with memory.record() as recording:
        kept = [block(1000), tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))]
    text = str(recording)
    assert repr(recording) == text
    figures, alive = text.split("\n\nAlive at the peak:\n")
    assert GPU in figures
    assert alive.splitlines()[0].split() == ["device", "size", "share", "tensors", "op", "line", "called", "from"]
    row = next(line.split() for line in alive.splitlines() if "1000.0 KiB" in line)
    assert row[0] == GPU
    assert row[5:7] == ["1", "Full"]
    assert row[7].startswith("test_recording.py:")
    del kept


def test_nothing_recorded_says_so(run_python, tmp_path):
    program = f"""
import situs as tf
from situs import memory
tf.config.list_logical_devices()
with memory.record() as recording:
    pass
print(recording, recording.events, recording.peak("GPU:0"), recording.peak().size)
for name in ("x.svg", "x.html", "x.json"):
    recording.save({str(tmp_path)!r} + "/" + name)
"""
    out = run_python(program, SITUS_VIRTUAL_GPUS="1x64MiB")
    assert out.startswith("Nothing was recorded: no memory of a GPU was used meanwhile. [] Peak(name=")
    assert "size=0, limit=67108864, time=None, holders=()) 0" in out
    for name in ("x.svg", "x.html"):
        assert "Nothing was recorded" in (tmp_path / name).read_text()


def test_as_plain_data(tmp_path):
    with memory.record() as recording:
        kept = block(4)
        del kept
    recording.save(tmp_path / "x.json")
    data = json.loads((tmp_path / "x.json").read_text())
    assert data == recording.to_dict()
    assert data["begin"] <= data["end"]
    gpu = next(device for device in data["devices"] if device["name"].endswith(GPU))
    assert gpu["events"]["size"][-2:] == [4 * KIB, -4 * KIB]
    made = gpu["makers"][gpu["events"]["maker"][-1]]
    assert (made["op"], made["file"]) == ("Full", __file__)
    assert sum(holder["size"] for holder in gpu["peak"]["holders"]) == gpu["peak"]["size"]


@pytest.mark.parametrize(
    ("name", "error"), [("CPU:0", NotFoundError), ("GPU:9", NotFoundError), ("GPU", InvalidArgumentError)]
)
def test_only_gpus_are_recorded(name, error):
    with memory.record() as recording:
        pass
    with pytest.raises(error, match="GPU:0"):
        recording.peak(name)


def test_a_recording_may_begin_before_the_devices_are_made(run_python):
    program = """
from situs import memory
import situs as tf
with memory.record() as recording:
    assert str(recording).startswith("Nothing")
    tf.config.set_virtual_gpus(1, memory="1MiB")
    kept = tf.ones([1024])
print(recording.peak().size)
"""
    assert run_python(program) == "4096\n"


def test_without_gpus_nothing_is_recorded(run_python):
    program = """
from situs import memory
import situs as tf
with memory.record() as recording:
    tf.ones([1024])
print(recording, recording.events, recording.to_dict()["devices"])
recording.peak()
"""
    out = run_python(program, fails=True, SITUS_VIRTUAL_GPUS="0")
    assert out.startswith("Nothing was recorded: no memory of a GPU was used meanwhile. [] []\n")
    assert "NotFoundError: No GPU was there to be recorded." in out
