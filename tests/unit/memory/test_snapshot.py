"""Snapshots: the figures of every device, what fills it, and the files that say so."""

from __future__ import annotations

import gc
import json
import linecache
import xml.etree.ElementTree as ElementTree
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import situs as tf
from situs import memory
from situs.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnimplementedError

KIB = 2**10
NEW_LINE = "\n"
GPU = "GPU:2"  # one that other tests leave alone
GPUS = ("GPU:0", "GPU:1", "GPU:2", "GPU:3")


@pytest.fixture
def held():
    """Three tensors on a GPU: two of one line, and their product."""
    with tf.device(f"/{GPU}"):
        pair = [tf.ones([64, KIB]) for _ in range(2)]  # the line that a test looks for
        product = tf.matmul(pair[0], tf.reshape(pair[1], [KIB, 64]))
    return [*pair, product]


def of_gpu():
    return memory.snapshot()[GPU]


def test_a_snapshot_lists_every_device_the_cpu_first():
    names = [device.name for device in memory.snapshot()]
    assert names == [f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", *GPUS)]


def test_holders_are_ops_at_lines_largest_first(held):
    first, second = of_gpu().holders[:2]
    assert (first.op, first.count, first.size) == ("Full", 2, 2 * 64 * KIB * 4)
    assert first.line.startswith("test_snapshot.py:")
    assert first.file == __file__
    assert "the line that a test looks for" in linecache.getline(first.file, first.lineno)
    assert (second.op, second.count, second.size) == ("MatMul", 1, 64 * 64 * 4)


def test_current_is_what_the_holders_hold(held):
    found = of_gpu()
    assert found.current == sum(holder.size for holder in found.holders) == 2 * 64 * KIB * 4 + 64 * 64 * 4
    assert found.other == 0
    assert found.current <= found.peak <= found.limit
    assert found.current <= found.reserved <= found.limit


def test_what_is_deleted_is_gone_at_once(held):
    before = of_gpu().current
    held.pop()
    assert of_gpu().current == before - 64 * 64 * 4


def test_views_hold_nothing_of_their_own(held):
    before = of_gpu()
    with tf.device(f"/{GPU}"):
        views = [tf.reshape(held[0], [-1]), tf.transpose(held[0]), held[0][3:]]
    assert of_gpu().current == before.current
    held[0] = None
    assert of_gpu().current == before.current  # a view keeps the whole block
    views.clear()
    assert of_gpu().current == before.current - 64 * KIB * 4


def test_the_policy_is_told_in_words():
    assert of_gpu().policy == "map all"


def test_joined_by_op_and_by_line(held):
    by_op = memory.snapshot().by_op()[GPU].holders
    assert [(holder.op, holder.line) for holder in by_op] == [("Full", ""), ("MatMul", "")]
    by_line = memory.snapshot().by_line()[GPU].holders
    assert [holder.op for holder in by_line] == ["", ""]
    assert sum(holder.size for holder in by_line) == of_gpu().current


def test_a_variable_is_called_by_its_name():
    with tf.device(f"/{GPU}"):
        v = tf.Variable(tf.ones([64, KIB]), name="weights")
        v.assign_add(tf.ones([64, KIB]))
    assert "Variable weights" in [holder.op.removesuffix(":0") for holder in of_gpu().holders]


def test_as_plain_data(held):
    data = json.loads(json.dumps(memory.snapshot().to_dict()))
    gpu = next(device for device in data["devices"] if device["name"].endswith(GPU))
    assert gpu["current"] == of_gpu().current
    assert set(gpu) == {"name", "current", "peak", "reserved", "limit", "policy", "holders", "other"}
    assert gpu["holders"][0].keys() == {"op", "line", "file", "lineno", "caller", "count", "size"}


def test_a_snapshot_does_not_change(held):
    found = memory.snapshot()
    before = found[GPU].current
    held.clear()
    assert found[GPU].current == before
    with pytest.raises(FrozenInstanceError):
        found.devices = ()


def test_the_table_shows_figures_and_holders(held):
    text = str(memory.snapshot())
    assert repr(memory.snapshot()) == text
    figures, holders = text.split("\n\n")
    assert figures.split("\n")[0].split() == ["device", "current", "peak", "reserved", "limit", "policy"]
    row = next(line for line in figures.splitlines() if line.strip().startswith(GPU))
    assert row.split()[1:3] == ["528.0", "KiB"]
    assert row.endswith("map all")
    assert any("Full" in line and "test_snapshot.py:" in line for line in holders.splitlines())


def gpu_alone():
    """A snapshot without the other devices, which hold what other tests left."""
    return memory.Snapshot((memory.snapshot()[GPU],))


def test_the_table_adds_up_what_it_does_not_show():
    with tf.device(f"/{GPU}"):
        kept = eval(f"[{NEW_LINE.join(['tf.ones([KIB]),'] * 15)}]", {"tf": tf, "KIB": KIB})  # fifteen lines
    assert len(of_gpu().holders) == len(kept) == 15
    row = next(line for line in str(gpu_alone()).splitlines() if "(more)" in line)
    assert row.split() == [GPU, "20.0", "KiB", "33", "%", "5", "(more)"]


def test_names_of_programs_are_shown_as_they_are():
    code = compile("kept = tf.ones([KIB])", "[bold]/:smile: <b>&\x1b.py", "exec")
    space = {"tf": tf, "KIB": KIB}
    with tf.device(f"/{GPU}"):
        exec(code, space)
    assert ":smile: <b>&" in str(gpu_alone())
    assert of_gpu().holders[0].file == "[bold]/:smile: <b>&\x1b.py"


@pytest.mark.parametrize("name", [GPU, "/gpu:2", "gpu:2", "/job:localhost/replica:0/task:0/device:GPU:2"])
def test_a_device_is_found_by_any_of_its_names(name):
    assert memory.snapshot()[name].name.endswith(GPU)


@pytest.mark.parametrize(
    ("name", "error"),
    [("GPU:77", NotFoundError), ("GPU", InvalidArgumentError), ("", InvalidArgumentError), (0, InvalidArgumentError)],
)
def test_a_device_that_is_not_there_is_a_clear_error(name, error):
    with pytest.raises(error, match="GPU:0"):
        memory.snapshot()[name]


# Files.


def test_a_snapshot_is_saved_as_what_the_file_is_called(held, tmp_path):
    found = memory.snapshot()
    for name in ("memory.json", "memory.svg", "memory.HTML"):
        found.save(tmp_path / name)
    assert json.loads((tmp_path / "memory.json").read_text()) == found.to_dict()
    picture = (tmp_path / "memory.svg").read_text()
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "Full, test_snapshot.py" in picture
    page = (tmp_path / "memory.HTML").read_text()
    assert picture.strip() in page
    assert "<td>Full</td>" in page


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("memory.png", InvalidArgumentError, r"memory\.png.*\.svg, \.html, \.json"),
        ("memory", InvalidArgumentError, r"\.svg"),
        ("missing/memory.svg", NotFoundError, "No such file"),
        ("folder.svg", FailedPreconditionError, "Is a directory"),
        ("gs://bucket/memory.svg", UnimplementedError, "scheme"),
        ("a\0b.svg", InvalidArgumentError, "cannot be a path"),
        (7, TypeError, "got 7"),
        ("", NotFoundError, "empty"),
    ],
)
def test_what_cannot_be_written_is_a_clear_error(name, error, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(error, match=match):
        memory.snapshot().save(name)


# The CPU.


def cpu():
    gc.collect()  # what earlier tests left in cycles may go at any moment
    return memory.snapshot()["CPU:0"]


def sizes_by_op(device):
    return {holder.op: holder.size for holder in device.by_op().holders}


def test_the_cpu_is_counted_without_peak_and_lines():
    before = cpu().current
    with tf.device("/cpu:0"):
        kept = tf.ones([KIB, KIB])
    after = cpu()
    assert after.current - before == kept.numpy().nbytes
    assert (after.peak, after.reserved, after.limit, after.policy, after.other) == (None, None, None, "", 0)
    assert {holder.line for holder in after.holders} == {""}
    del kept
    assert cpu().current == before


def test_the_cpu_counts_shared_memory_once_and_calls_it_by_the_op_not_the_view():
    before = sizes_by_op(cpu())
    with tf.device("/cpu:0"):
        product = tf.matmul(tf.ones([KIB, 8]), tf.ones([8, KIB]))
        views = [tf.reshape(product, [-1]), tf.transpose(product)]
    after = sizes_by_op(cpu())
    assert after["MatMul"] - before.get("MatMul", 0) == KIB * KIB * 4
    assert after.get("Reshape") == before.get("Reshape")
    del views


def test_the_cpu_counts_variables_and_strings():
    before = sizes_by_op(cpu())
    with tf.device("/cpu:0"):
        variable = tf.Variable(np.ones(KIB), name="census")
        strings = tf.constant(["a"] * KIB)
    after = sizes_by_op(cpu())
    assert after[next(op for op in after if op.startswith("Variable census"))] == 8 * KIB
    assert after["Const"] - before.get("Const", 0) >= 8 * KIB
    del variable, strings


def test_what_lies_on_a_virtual_gpu_is_not_the_cpus(held):
    before = cpu().current
    with tf.device(f"/{GPU}"):
        kept = tf.ones([KIB, KIB])
    assert cpu().current == before
    del kept


def test_without_gpus_there_is_the_cpu(run_python):
    program = "from situs import memory\nprint(memory.snapshot())\nprint(len(memory.snapshot()))\n"
    out = run_python(program, SITUS_VIRTUAL_GPUS="0")
    assert "CPU:0    0 bytes" in out
    assert out.endswith("\n1\n")
