"""Plans as code: values are passed on and freed. The calls here are the tests' own."""

from __future__ import annotations

import gc
import weakref

import pytest

from situs._src.base.devices.inventory import process
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot
from situs._src.runtime.run.emit import emit
from situs._src.runtime.run.state import Run, State

RUN = Run(State())


class Box:
    """A value that can be watched."""

    def __init__(self, value):
        self.value = value


def host():
    return process.devices()[-1]


def plan_of(calls, inputs=0, outputs=()):
    """A plan of (function, input slots, output slots) calls."""
    made = [Call(f, [Slot(i) for i in takes], list(makes), host(), single=len(makes) == 1) for f, takes, makes in calls]
    slots = 1 + max([inputs - 1, *(slot for _, _, makes in calls for slot in makes)])
    return Plan(made, list(range(inputs)), [Slot(slot) for slot in outputs], slots, {})


def run(plan, *values):
    return emit(plan).function(RUN, *values)


def test_values_go_from_call_to_call():
    plan = plan_of([(lambda x: x + 1, [0], [1]), (lambda x, y: x * y, [0, 1], [2])], 1, [2, 0])
    assert run(plan, 3) == (12, 3)


def test_a_call_may_make_nothing_or_several_values():
    seen = []
    plan = plan_of([(lambda x: (x, -x), [0], [1, 2]), (lambda x: seen.append(x) or (), [2], [])], 1, [1])
    assert run(plan, 3) == (3,)
    assert seen == [-3]


def test_a_call_may_take_the_run_lists_and_constants():
    calls = [
        Call(lambda run, xs, c: (run, xs, c), [[Slot(0), Slot(1)], Literal("c")], [2], host(), takes_run=True),
        Call(lambda pair: pair, [(Slot(0), Literal(2))], [3], host()),
    ]
    assert run(Plan(calls, [0, 1], [Slot(2), Slot(3)], 4, {}), 7, 8) == ((RUN, [7, 8], "c"), (7, 2))


def test_a_host_value_is_plain():
    import torch

    calls = [Call(lambda shape: shape, [Slot(0, host=True)], [1], host())]
    assert run(Plan(calls, [0], [Slot(1)], 2, {}), torch.tensor([2, 3])) == ((2, 3),)


@pytest.mark.parametrize("length", [1, 5, 50])
def test_a_chain_holds_two_values_at_a_time(length):
    alive, most = weakref.WeakSet(), []

    def step(box):
        made = Box(box.value + 1)
        alive.add(made)
        most.append(len(alive))
        return made

    first = Box(0)
    alive.add(first)
    plan = plan_of([(step, [i], [i + 1]) for i in range(length)], 1, [length])
    (made,) = run(plan, first)
    assert made.value == length
    assert max(most) <= 3  # the test holds the first one


def test_a_value_is_freed_after_its_last_use():
    boxes = weakref.WeakValueDictionary()

    def make(name):
        def call(*_):
            made = Box(name)
            boxes[name] = made
            return made

        return call

    def alive(*expected):
        def call(*_):
            gc.collect()
            assert sorted(boxes) == sorted(expected)
            return ()

        return call

    plan = plan_of(
        [
            (make("a"), [], [0]),
            (make("b"), [0], [1]),
            (alive("a", "b"), [], []),
            (make("unused"), [], [2]),
            (alive("a", "b"), [0], []),  # the last use of a
            (alive("b"), [], []),
            (make("c"), [1], [3]),
            (alive("c"), [], []),
        ],
        0,
        [3],
    )
    (c,) = run(plan)
    assert c.value == "c"


def test_a_long_plan_compiles():
    count = 3000
    plan = plan_of([(lambda x: x + 1, [i], [i + 1]) for i in range(count)], 1, [count])
    assert run(plan, 0) == (count,)
    assert len({line.split(" = ")[0] for line in emit(plan).source.splitlines()[1:-1]}) <= 2


def test_every_value_may_be_needed_to_the_end():
    count = 400
    plan = plan_of([(lambda x: x + 1, [0], [i]) for i in range(1, count)], 1, list(range(count)))
    assert run(plan, 0) == (0, *[1] * (count - 1))
