"""Where long rows of calls repeat themselves, and what is compiled once for that."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.runtime.passes import regions, repeats
from situs._src.runtime.passes.regions import divide, form_of
from situs._src.runtime.passes.repeats import Row, Run, identity, pieces, runs
from situs._src.runtime.run import compiled_region, inductor
from tests.unit.execution.test_regions import plan_of

CELLS = 12


def row_of(text, takes=None, exact=None):
    """A row with one letter a call; each takes what the one before it makes."""
    before = [[place - 1] if place else [] for place in range(len(text))] if takes is None else takes
    return Row(text, text if exact is None else exact, before, [True] * len(text))


@pytest.fixture(autouse=True)
def _small(monkeypatch, fast):
    monkeypatch.setattr(repeats, "SAVED", 6)
    with tf.device("/cpu:0"):
        yield


# Runs.


def test_what_follows_itself_is_a_run():
    assert runs("xyz" + "abcd" * 5 + "uvw") == [Run(3, 4, 5)]


def test_nothing_repeats_in_a_row_of_different_calls():
    assert runs("abcdefghijklmnopqrstuvwxyz") == []
    assert runs("") == runs("abc") == []


def test_blocks_may_have_like_parts_inside():
    block = "nnmmabcdennmmfghij"  # a block of two layers that begin alike
    assert runs("xyz" + block * 6 + "end") == [Run(3, len(block), 6)]


def test_forward_and_backward_are_two_runs():
    found = runs("abcdef" * 8 + "L" + "uvwxyz" * 8)
    assert found == [Run(0, 6, 8), Run(49, 6, 8)]


def test_a_run_that_saves_little_is_none(monkeypatch):
    monkeypatch.setattr(repeats, "SAVED", 100)
    assert runs("abcdef" * 8) == []


def test_runs_take_a_time_that_grows_with_the_row():
    """By the number of comparisons: twice the row, about twice as many."""
    counts = []
    for count in (200, 400):
        asked = 0

        class Kind(str):
            def __hash__(self):
                nonlocal asked
                asked += 1
                return super().__hash__()

        assert len(runs([Kind(letter) for letter in "abcdefghijkl" * count])) == 1
        counts.append(asked)
    assert counts[1] <= 2.1 * counts[0]


# Pieces.


def test_the_pieces_of_a_run_are_alike_and_the_rest_is_plain():
    text = "xyz" + "abcd" * 5 + "uvw"
    found = pieces(row_of(text), 4, 100)
    assert ["".join(text[place] for place in piece) for piece in found] == ["xyz", *["abcd"] * 5, "uvw"]


def test_repetitions_are_joined_until_a_piece_is_long_enough():
    found = pieces(row_of("abcd" * 9), 7, 100)
    assert [len(piece) for piece in found] == [8, 8, 8, 8, 4]


def test_no_piece_is_longer_than_allowed():
    found = pieces(row_of("abcdefghij" * 6 + "klmnopqrstuv"), 10, 6)
    assert max(map(len, found)) == 6
    assert sorted(place for piece in found for place in piece) == list(range(72))


def test_it_is_cut_where_few_values_cross():
    """What c and d take comes from the two calls before them, what a and b take from one: so a is the first."""
    text = "cdab" * 8
    reach = [(1, 2) if letter in "cd" else (1,) for letter in text]
    takes = [[place - far for far in reach[place] if far <= place] for place in range(len(text))]
    found = pieces(row_of(text, takes), 4, 100)
    assert {"".join(text[place] for place in piece) for piece in found[1:-1]} == {"abcd"}


def test_what_differs_each_time_goes_before_the_run_if_it_takes_nothing_of_it():
    text = "xyz" + "sabc" * 6
    exact = [f"{letter}{place}" if letter == "s" else letter for place, letter in enumerate(text)]
    takes = [[] if letter in "xyzs" else [place - 1] for place, letter in enumerate(text)]
    found = pieces(row_of(text, takes, exact), 3, 100)
    first, *others = ["".join(text[place] for place in piece) for piece in found]
    assert first == "xyz" + "s" * 6
    assert others == ["abc"] * 6


def test_what_differs_each_time_goes_after_the_run_if_nothing_takes_it():
    text = "abcg" * 6 + "z"
    exact = [f"{letter}{place}" if letter == "g" else letter for place, letter in enumerate(text)]
    takes = [[place - 2 if letter == "a" else place - 1] if place > 1 else [] for place, letter in enumerate(text)]
    takes[-1] = [place for place, letter in enumerate(text) if letter == "g"]
    found = pieces(row_of(text, takes, exact), 3, 100)
    assert "".join(text[place] for place in found[-1]) == "g" * 6 + "z"
    assert all("g" not in [text[place] for place in piece] for piece in found[:-1])


def test_what_differs_each_time_in_the_middle_makes_a_run_none():
    text = "abcd" * 6
    exact = [f"{letter}{place}" if letter == "b" else letter for place, letter in enumerate(text)]
    assert pieces(row_of(text, exact=exact), 4, 100) == [list(range(24))]


# What makes two functions one.


def made(number):
    def function(x):
        return x * number

    return function


def test_functions_are_known_by_their_code_and_what_they_have_bound():
    assert identity(made(2)) == identity(made(2)) != identity(made(3))
    assert identity(made(2)) != identity(made(2.0))
    assert identity(partial(made(1), a=1, b=(2, 3))) == identity(partial(made(1), b=(2, 3), a=1))
    assert identity(partial(made(1), a=1)) != identity(partial(made(1), a=True))
    assert identity(torch.mm) == identity(torch.mm) != identity(torch.bmm)


def test_constants_are_known_by_their_values_and_large_ones_by_themselves():
    assert (
        identity(torch.tensor([1.0, -0.0])) == identity(torch.tensor([1.0, -0.0])) != identity(torch.tensor([1.0, 0.0]))
    )
    assert identity(np.int32(3)) != identity(np.int64(3))
    assert identity((slice(1, 2), ...)) == identity((slice(1, 2), ...)) != identity((slice(1, 3), ...))
    large = torch.ones(100)
    assert identity(large) == identity(large) != identity(torch.ones(100))


def test_methods_are_those_of_one_object():
    first, second = row_of("ab"), row_of("ab")
    assert identity(first.__repr__) == identity(first.__repr__) != identity(second.__repr__)


# In plans.


def network(x, weights, bias):
    """A recurrent network, unrolled over the second axis."""
    h = x[:, 0] * 0.0
    for step in range(x.shape[1]):
        made = tf.concat([x[:, step], h], -1) @ weights + bias
        h = tf.tanh(made[:, :4]) * tf.sigmoid(made[:, 4:]) + h * 0.5
    return tf.reduce_sum(h)


def trained(x, weights, bias):
    with tf.GradientTape() as tape:
        tape.watch([weights, bias])
        loss = network(x, weights, bias)
    return loss, *tape.gradient(loss, [weights, bias])


RNG = np.random.RandomState(0)
X = RNG.randn(2, CELLS, 4).astype(np.float32)
WEIGHTS, BIAS = RNG.randn(8, 8).astype(np.float32) * 0.3, RNG.randn(8).astype(np.float32) * 0.1


def test_cells_of_a_network_have_one_form(monkeypatch):
    monkeypatch.setattr(regions, "WHOLE", 20)
    monkeypatch.setattr(regions, "PIECE", 5)
    plan, seen = plan_of(trained, X, WEIGHTS, BIAS)
    found = divide(plan, seen).regions
    forms = {form_of(region, seen) for region in found}
    assert len(found) > 1.5 * CELLS
    assert len(forms) <= 8
    assert sum(len(region.calls) for region in found) == sum(
        len(region.calls) for region in _whole(monkeypatch, plan, seen)
    )


def _whole(monkeypatch, plan, seen):
    monkeypatch.setattr(regions, "WHOLE", 10_000)
    monkeypatch.setattr(regions, "LONGEST", 10_000)
    found = divide(plan, seen).regions
    assert len(found) == 1
    return found


def test_short_regions_stay_whole():
    plan, seen = plan_of(trained, X, WEIGHTS, BIAS)
    assert len(divide(plan, seen).regions) == 1


def test_regions_that_differ_in_a_constant_or_a_shape_have_other_forms():
    forms = [
        form_of(divide(plan, seen).regions[0], seen)
        for plan, seen in (
            plan_of(lambda x: tf.exp(x * 2.0) + x, X),
            plan_of(lambda x: tf.exp(x * 2.0) + x, X),
            plan_of(lambda x: tf.exp(x * 3.0) + x, X),
            plan_of(lambda x: tf.exp(x * 2.0) + x, X[:1]),
            plan_of(lambda x: (tf.exp(x * 2.0) + x) * x, X),
            plan_of(lambda x: tf.exp(x * 2.0) + x * 2.0, X),
        )
    ]
    assert forms[0] == forms[1]
    assert len(set(forms)) == 5


def test_a_network_is_compiled_in_pieces_and_gives_the_same(monkeypatch):
    compiled = []

    def stand_in(traced, exact=False):
        compiled.append(traced)
        return lambda values: traced.graph(*values)

    monkeypatch.setattr(inductor, "compiled", stand_in)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(regions, "WHOLE", 20)
    monkeypatch.setattr(regions, "PIECE", 5)
    given = [tf.constant(each) for each in (X, WEIGHTS, BIAS)]
    wanted = tf.function(trained)(*given)
    f = tf.function(trained, jit_compile=True)
    for _ in range(4):
        found = f(*given)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    called = {each.runs_as for each in tf.explain(f) if each.runs_as.startswith("compiled region")}
    assert len(called) > 1.5 * CELLS
    assert len(compiled) <= 8
