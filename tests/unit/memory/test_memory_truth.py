"""The figures are right: after every step of random programs they equal what the live tensors hold.

The truth is counted apart, from the tensors that the test itself keeps: each block of memory once.
"""

from __future__ import annotations

import gc
import sys
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
from situs import memory
from situs._src.base.devices.inventory import process

GPUS = ("GPU:1", "GPU:2", "GPU:3")
gpus = st.sampled_from(GPUS)
picks = st.integers(0, 10**6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("make"), gpus, st.integers(0, 200)),
        st.tuples(st.just("double"), gpus, picks),
        st.tuples(st.just("view"), gpus, picks),
        st.tuples(st.just("assign"), gpus, picks),
        st.tuples(st.just("delete"), gpus, picks),
        st.tuples(st.just("delete"), gpus, picks),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left_in_cycles():
    gc.collect()


class Program:
    """A program that keeps tensors in a list; knows what they hold without asking Situs."""

    def __init__(self):
        self.tensors = []
        self.variables = {}

    def do(self, what, gpu, number):
        with tf.device(f"/{gpu}"):
            if what == "make":
                self.tensors.append(tf.zeros([number, 16]))
            elif what == "assign":
                self._assign(gpu)
            elif self.tensors:
                getattr(self, what)(number % len(self.tensors))

    def double(self, number):
        self.tensors.append(self.tensors[number] + self.tensors[number])

    def view(self, number):
        tensor = self.tensors[number]
        with tf.device(tensor.device):
            self.tensors.append(tf.reshape(tensor, [-1])[3:])

    def delete(self, number):
        del self.tensors[number]

    def _assign(self, gpu):
        if gpu in self.variables:
            self.variables[gpu].assign_add(tf.ones([50]))
        else:
            self.variables[gpu] = tf.Variable(tf.ones([50]))

    def held(self, gpu):
        values = [t._value for t in self.tensors if t.device.endswith(gpu)]
        values += [v.value()._value for name, v in self.variables.items() if name == gpu]
        return sum({value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in values}.values())


def accounts():
    return {d.short_name: d.account for d in process.devices() if d.short_name in GPUS}


@given(steps)
@settings(max_examples=40)
def test_a_snapshot_is_the_sum_of_live_storages_at_every_step(todo):
    left = {gpu: account.usage().current for gpu, account in accounts().items()}
    program = Program()
    for step in todo:
        program.do(*step)
        with patch.object(sys.modules["situs._src.inspect.snapshot"], "census", dict):  # the CPU's part takes its time
            found = memory.snapshot()
        for gpu in GPUS:
            assert found[gpu].current - left[gpu] == program.held(gpu)
            assert found[gpu].current == sum(holder.size for holder in found[gpu].holders)
            assert found[gpu].by_op().by_line().current == found[gpu].current <= found[gpu].peak


@given(steps, st.integers(0, 40))
@settings(max_examples=60)
def test_a_recording_ends_where_usage_is_and_its_peak_is_the_ledgers(todo, begin):
    program = Program()
    for step in todo[:begin]:
        program.do(*step)
    for account in accounts().values():
        account.reset_peak()
    with memory.record() as recording:
        for step in todo[begin:]:
            program.do(*step)
    for gpu, account in accounts().items():
        changes = [event.size for event in recording.events if event.device.endswith(gpu)]
        assert sum(changes) == account.usage().current
        peak = recording.peak(gpu)
        assert peak.size == account.usage().peak
        assert peak.size == sum(holder.size for holder in peak.holders)


@given(steps)
def test_a_recording_inside_another_tells_the_same_of_its_own_time(todo):
    program = Program()
    half = len(todo) // 2
    with memory.record():
        for step in todo[:half]:
            program.do(*step)
        for account in accounts().values():
            account.reset_peak()
        with memory.record() as inner:
            for step in todo[half:]:
                program.do(*step)
        for gpu, account in accounts().items():
            assert inner.peak(gpu).size == account.usage().peak
            assert sum(e.size for e in inner.events if e.device.endswith(gpu)) == account.usage().current
