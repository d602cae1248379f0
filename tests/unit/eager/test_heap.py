"""What malloc keeps between runs: settings, refusals, and that it is told once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import situs as tf
from situs._src.base import settings
from situs._src.runtime.eager import heap
from situs.errors import InvalidArgumentError
from tests.conftest import ROOT

FAULTS = """
import resource, situs as tf
with tf.device("/cpu:0"):
    x = tf.ones([4096, 4096])  # 64 MiB
    f = tf.function(lambda x: tf.reduce_sum(tf.exp(x) * 2.0))
    for _ in range(3):
        f(x)
    counts = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        f(x)
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    print(5 * sorted(counts)[2])  # a single run may find the heap in pieces
"""


def faults(**environment):
    """How often a graph of 64 MiB tensors asks the system for a page."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SITUS_", "MALLOC_", "GLIBC_"))}
    given = {**clean, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture
def told(monkeypatch):
    """What malloc is told, in a process that has not told it anything."""
    said = []
    monkeypatch.setattr(heap, "_is_settled", False)
    monkeypatch.setattr(heap, "_function", lambda name: lambda *values: said.append((name, *values)) or 1)
    monkeypatch.delenv("SITUS_KEEP_HEAP", raising=False)
    return said


@pytest.mark.skipif(heap._function("mallopt") is None, reason="the C library is not glibc")
def test_runs_after_the_first_ask_for_no_pages():
    pages = 5 * 64 * 2**20 // 4096
    assert faults() < pages / 10
    assert faults(SITUS_KEEP_HEAP="0") > pages / 2
    assert faults(MALLOC_TRIM_THRESHOLD_="1000000") > pages / 2


def test_malloc_is_told_once(told):
    for _ in range(3):
        heap.keep()
    assert told == [("mallopt", heap.M_MMAP_THRESHOLD, 2**28), ("mallopt", heap.M_TRIM_THRESHOLD, 2**29)]


def test_sizes_are_what_an_int_holds(told, monkeypatch):
    monkeypatch.setenv("SITUS_KEEP_HEAP", "1TiB")
    heap.keep()
    assert [value for _, _, value in told] == [2**31 - 1] * 2


@pytest.mark.parametrize(
    "environment",
    [{"SITUS_KEEP_HEAP": "0"}, {"MALLOC_MMAP_THRESHOLD_": "1"}, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}],
    ids=["asked not to", "chosen by a variable", "chosen by a tunable"],
)
def test_malloc_is_left_alone(told, environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    heap.keep()
    assert told == []


def test_a_size_that_is_none_is_an_error(monkeypatch):
    monkeypatch.setenv("SITUS_KEEP_HEAP", "much")
    with pytest.raises(InvalidArgumentError, match="Cannot read 'much' as a size"):
        settings.keep_heap()


@pytest.mark.parametrize("device", [None, "CPU:0", "/cpu:0"])
def test_what_is_kept_can_be_given_back(told, device):
    tf.config.experimental.release_memory(device)
    assert told == [("malloc_trim", 0)]


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(heap, "_function", lambda name: None)
    assert not heap._tell_malloc(2**20)
    heap.give_back()
