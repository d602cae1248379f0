"""The cost model: measured before interpolated before estimated, and all of it the same each time."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import GPU_CALL, Speed, kind_of, speed_of
from situs._src.placement.costs.model import CostModel, estimate, interpolated_factor, link_name
from situs._src.placement.costs.store import CostStore, Measured
from situs._src.placement.costs.work import Work, work_of

SPEED = Speed(steps=1e9, bandwidth=1e9, call=1e-6)


def product(rows, inner=16, columns=16):
    with tf.Graph().as_default():
        return tf.matmul(tf.placeholder(tf.float32, [rows, inner]), tf.placeholder(tf.float32, [inner, columns])).op


def device(kind="CPU"):
    return next(each for each in process.devices() if each.type == kind)


def measured(store, node, seconds):
    store.note(kind_of(device()), key_of(node), work_of(node), seconds)


def test_an_estimate_is_the_slower_of_arithmetic_and_memory_after_the_call():
    assert estimate(Work(2e6, 1e6), SPEED) == pytest.approx(1e-6 + 2e-3)
    assert estimate(Work(1e6, 3e6), SPEED) == pytest.approx(1e-6 + 3e-3)
    assert estimate(Work(0, 0, calls=3), SPEED) == pytest.approx(3e-6)


def test_what_was_measured_counts():
    store, node = CostStore(clock=lambda: 7.0), product(32)
    for seconds in (1.0, 9.0, 2.0):
        measured(store, node, seconds)
    cost = CostModel(store).time(node, device())
    assert (cost.seconds, cost.source, cost.at) == (2.0, "measured", 7.0)


def test_what_was_measured_on_another_kind_of_device_does_not_count():
    store, node = CostStore(), product(32)
    store.note("GPU of another machine", key_of(node), work_of(node), 5.0)
    assert CostModel(store).time(node, device()).source == "estimated"


def test_other_dtypes_and_attributes_are_other_families():
    with tf.Graph().as_default():
        a = tf.placeholder(tf.float32, [8, 8])
        b = tf.placeholder(tf.float64, [8, 8])
        plain, turned, double = tf.matmul(a, a), tf.matmul(a, a, transpose_a=True), tf.matmul(b, b)
    assert len({key_of(each.op).family for each in (plain, turned, double)}) == 3


def test_random_ops_with_other_seeds_are_the_same():
    with tf.Graph().as_default():
        one, other = tf.random_uniform([4], seed=1), tf.random_uniform([4], seed=2)

    def drawing(tensor):
        node = tensor.op
        while "seed" not in node.attrs:
            node = node.inputs[0].op
        return node

    assert key_of(drawing(one)) == key_of(drawing(other))


def test_between_two_measured_shapes_times_are_interpolated():
    store = CostStore()
    measured(store, product(64), 1e-3)
    measured(store, product(1024), 16e-3)
    found = CostModel(store).time(product(256), device())
    assert found.source == "interpolated"
    assert found.seconds == pytest.approx(4e-3, rel=0.35)
    assert 1e-3 < found.seconds < 16e-3


def test_beyond_the_last_measured_shape_its_factor_holds():
    store, far = CostStore(), product(2**16)
    measured(store, product(64), 10 * estimate(work_of(product(64)), speed_of(device())))
    assert CostModel(store).time(far, device()).seconds == pytest.approx(
        10 * estimate(work_of(far), speed_of(device())), rel=1e-6
    )


def test_nothing_to_do_is_free():
    with tf.Graph().as_default():
        node = tf.identity(tf.placeholder(tf.float32, [4])).op
    assert CostModel(CostStore()).time(node, device()).source == "free"


def test_links_are_measured_by_ordered_pair():
    store, (here, there) = CostStore(), (device("CPU"), device("GPU"))
    before = CostModel(store).link(here, there)
    store.note_link(link_name(here, there), 1e-3, 1e-6)
    assert CostModel(store).link(here, there).seconds(1000) == pytest.approx(2e-3)
    assert CostModel(store).link(there, here).source == "estimated" == before.source


points = st.lists(
    st.tuples(st.floats(1e3, 1e12), st.floats(1e-6, 10.0)), min_size=1, max_size=6, unique_by=lambda point: point[0]
)


@given(points, st.floats(1e2, 1e13))
def test_an_interpolated_factor_lies_between_its_neighbours(points, steps):
    known = [Measured(Work(work, 0.0), [seconds]) for work, seconds in points]
    factors = {each.work.steps: each.median / estimate(each.work, SPEED) for each in known}
    found = interpolated_factor(known, Work(steps, 0.0), SPEED)
    below = [factors[size] for size in sorted(factors) if size <= steps][-1:]
    above = [factors[size] for size in sorted(factors) if size >= steps][:1]
    near = below + above
    assert min(near) * (1 - 1e-9) <= found <= max(near) * (1 + 1e-9)


@given(points)
def test_at_a_measured_size_the_factor_is_the_measured_one(points):
    known = [Measured(Work(work, 0.0), [seconds]) for work, seconds in points]
    for each in known:
        found = interpolated_factor(known, each.work, SPEED) * estimate(each.work, SPEED)
        assert math.isclose(found, each.median, rel_tol=1e-6)


def test_on_one_card_a_copy_is_a_call_like_any_other():
    kinds = {"is_card": True, "card": SimpleNamespace(name="a card")}
    first, same, other = (
        SimpleNamespace(short_name=f"GPU:{number}", physical=card, **kinds) for number, card in enumerate("AAB")
    )
    store = CostStore()
    for target in (same, other):
        store.note_link(link_name(first, target), 5e-5, 1e-12)
    model = CostModel(store)
    assert model.link(first, other).latency == 5e-5
    assert model.link(first, same).latency == GPU_CALL
    assert model.link(first, same).per_byte == 1e-12
