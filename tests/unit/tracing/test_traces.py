"""Which of many graphs serves a call, and that finding it does not take longer the more there are."""

from __future__ import annotations

import itertools

import pytest

import situs as tf
from situs._src.tracing import kind as kinds
from situs._src.tracing.kind import Kind, kind_of
from situs._src.tracing.traces import Traces

SHAPES = [None, *[list(dims) for rank in (0, 1, 2) for dims in itertools.product([None, 2, 3], repeat=rank)]]


def kind(*shapes, mode=None):
    return kind_of(tuple(tf.TensorSpec(shape) for shape in shapes), {"mode": mode})[0]


def narrowest(made, wanted):
    """What a search through all of them finds: those that fit, less those that another of them is narrower than."""
    fitting = [other for other in made if other.accepts(wanted)]
    return [a for a in fitting if not any(a is not b and a.accepts(b) for b in fitting)]


def test_it_finds_what_a_search_through_all_finds():
    for chosen in itertools.combinations(SHAPES, 3):
        made = [kind(shape, [2]) for shape in chosen]
        traces = Traces()
        for one in made:
            traces.add(one, one)
        for shape in SHAPES:
            found = traces.serving(kind(shape, [2]))
            best = narrowest(made, kind(shape, [2]))
            assert (found in best) if best else (found is None)
            assert traces.serving(kind(shape, [2], mode="other")) is None
            assert traces.serving(kind(shape, [3])) is None


def test_the_common_kind_serves_all_that_differ_only_in_shapes():
    traces = Traces()
    for shape in ([2, 3], [2, 4]):
        traces.add(kind(shape), None)
    traces.add(kind([7, 7], mode="other"), None)
    assert traces.common(kind([2, 9])) == kind([2, None])
    assert traces.common(kind([5, 3])) == kind([None, None])
    assert traces.common(kind([5])) == kind(None)
    assert traces.common(kind([5], mode="new")) == kind([5], mode="new")


@pytest.mark.parametrize("reduces", [False, True])
@pytest.mark.parametrize("sort", ["shapes", "open shapes", "numbers"])
def test_a_new_graph_costs_the_same_whether_there_are_few_or_many(monkeypatch, sort, reduces):
    looks = 0

    def counting(method):
        def counted(*args):
            nonlocal looks
            looks += 1
            return method(*args)

        return counted

    for name in ("__eq__", "accepts", "widened"):
        monkeypatch.setattr(Kind, name, counting(getattr(Kind, name)))
    monkeypatch.setattr(kinds.Literal, "__eq__", counting(kinds.Literal.__eq__))
    function = tf.function(lambda x, n=0: x + float(n), reduce_retracing=reduces)
    spent = []
    for number in range(120):
        before = looks
        if sort == "shapes":
            function(tf.zeros([number + 1]))
        elif sort == "open shapes":
            function.get_concrete_function(tf.TensorSpec([None, number + 1]))
        else:
            function(tf.zeros([1]), number)
        spent.append(looks - before)
    assert max(spent[-20:]) <= max(spent[5:25]) + 5
