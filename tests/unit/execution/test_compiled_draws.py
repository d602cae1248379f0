"""Random numbers in regions: those that begin where the memory of the device says, with the same values as outside."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.base.budget.ledger import Account
from situs._src.ops.philox import draw
from situs._src.ops.philox.words import Placed
from situs._src.runtime.passes.regions import layout_of
from situs._src.runtime.plan import planner
from situs._src.runtime.run import capture_regions, compiled, compiled_region, cuda_graph, inductor
from tests.unit.execution.test_capture import Again

SEED = torch.tensor([3, 2**40 + 5])


@pytest.mark.parametrize("kind", [draw.uniform, draw.normal, draw.truncated_normal])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("is_seed", [True, False])
def test_a_draw_is_one_operator_with_the_same_numbers(kind, dtype, is_seed):
    place = SEED if is_seed else torch.tensor([7, -1, 2])

    def function(place):
        return [kind((3, 5), dtype, Placed(place, is_seed), place.device) * 2]

    traced = inductor.trace(function, [layout_of(place)])
    (name,) = [node.name for node in traced.graph.graph.nodes if "draw" in str(node.target)]
    assert name == "draw"
    (found,) = traced.graph(place)
    assert torch.equal(found, function(place)[0])


@pytest.fixture
def on_cards(monkeypatch, fast):
    """Virtual GPUs pass for cards, launches are made again in every replay, and a stand-in runs what was traced."""
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(planner, "_computes_beside_the_host", lambda device: device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)
    monkeypatch.setattr(Account, "enters_all", property(lambda account: False))
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, launches: 1.0)
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", lambda traced, exact=False: lambda values: traced.graph(*values))
    monkeypatch.setattr(compiled, "free_cores", lambda: 0)


def trained(jit_compile):
    x = tf.constant(np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6))
    with tf.device("/gpu:0"):
        weight, seed = tf.Variable(tf.ones([6, 6]) * 0.1), tf.Variable(tf.constant([1, 2], tf.int64))

    @tf.function(jit_compile=jit_compile)
    def step(x):
        with tf.device("/gpu:0"):
            with tf.GradientTape() as tape:
                h = tf.tanh(x @ weight)
                kept = tf.cast(tf.random.stateless_uniform([4, 6], seed.read_value()) >= 0.5, tf.float32)
                loss = tf.reduce_mean((h * kept * 2.0 - x) ** 2)
            seed.assign_add([1, 1])
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            return loss

    return [float(step(x)) for _ in range(40)], weight.numpy(), seed.numpy(), step


def test_dropout_in_a_compiled_step_drops_what_it_drops_uncompiled(on_cards):
    usual, weight, seed, _ = trained(False)
    losses, other_weight, other_seed, step = trained(True)
    np.testing.assert_allclose(losses, usual, rtol=1e-5)
    np.testing.assert_allclose(other_weight, weight, rtol=1e-5)
    np.testing.assert_array_equal(other_seed, seed)
    assert len(set(usual)) > 30  # other ones are dropped each time
    runs_as = {each.op: each.runs_as for each in tf.explain(step)}
    for op in ("MatMul", "StatelessRandomUniform", "TanhGrad", "AssignAdd", "AssignSub"):
        assert runs_as[op].startswith("compiled region 1 "), runs_as
