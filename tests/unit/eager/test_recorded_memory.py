"""Whether values that something has recorded are still the same, and nobody else's."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import torch

from situs._src.runtime.eager.in_place import Recorded


def values_of(count=3):
    return [torch.full([4], float(number)) for number in range(count)]


def test_values_that_only_the_list_holds_are_alone_every_time():
    values = values_of()
    recorded = Recorded(values)
    assert [recorded.is_alone_with(values) for _ in range(3)] == [True] * 3


def test_a_value_that_somebody_holds_is_not_alone_at_first_and_later():
    for before in (0, 2):
        values = values_of()
        recorded = Recorded(values)
        for _ in range(before):
            assert recorded.is_alone_with(values)
        held = values[1]
        assert not recorded.is_alone_with(values)
        del held
        assert recorded.is_alone_with(values)


def test_a_view_of_a_value_is_somebody_who_holds_it():
    values = values_of()
    recorded = Recorded(values)
    assert recorded.is_alone_with(values)
    part = values[2][1:]
    assert not recorded.is_alone_with(values)
    del part
    assert recorded.is_alone_with(values)


def test_another_value_is_not_the_one_that_was_recorded():
    values = values_of()
    recorded = Recorded(values)
    assert recorded.is_alone_with(values)
    values[0] = torch.zeros(4)
    assert not recorded.is_alone_with(values)


def test_memory_that_is_not_torchs_may_have_readers_that_nobody_counts():
    values = [torch.from_numpy(np.zeros(4))]
    recorded = Recorded(values)
    assert not recorded.is_alone_with(values)
    assert not recorded.is_alone_with(values)


def test_values_are_held_weakly():
    values = values_of(1)
    gone = weakref.ref(values[0])
    recorded = Recorded(values)
    values.clear()
    gc.collect()
    assert gone() is None
    assert not recorded.is_alone_with([torch.zeros(4)])
