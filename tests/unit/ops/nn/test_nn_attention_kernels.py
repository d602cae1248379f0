"""Which kernels of PyTorch attention chooses, and what it gives them.

Kernels of a card are stood in for by functions that demand what they demand and compute by definition. That the real
ones agree is tested on a card (tests/gpu).
"""

from __future__ import annotations

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from situs._src.ops.nn import attention_kernels as kernels
from situs._src.ops.nn.attention import dot_product_attention
from tests.gradients.check import tape_gradient

# Which way.

HALF = torch.float16, torch.bfloat16


def way(dtype, size, length=4, keys=4, added=None, is_causal=False, scale=1.0, card=True):
    """The way that is chosen on a card, or on the CPU."""

    def stand_in(length):
        shape = torch.Size([2, 3, length, size])
        where = SimpleNamespace(index=0)
        return SimpleNamespace(
            shape=shape, numel=shape.numel, is_cuda=card, dtype=dtype, itemsize=dtype.itemsize, device=where
        )

    query, key = stand_in(length), stand_in(keys)
    return kernels._way(kernels.Attention(query, key, key, added, None, scale, is_causal))


@pytest.fixture
def generation(monkeypatch):
    def choose(number):
        monkeypatch.setattr(kernels, "_generation", lambda card: number)

    choose(9)
    return choose


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_16_bit_floats_go_the_flash_way_unless_something_is_added(generation, dtype):
    assert way(dtype, 64) == way(dtype, 8) == way(dtype, 256) == "flash"
    assert way(dtype, 64, keys=7) == way(dtype, 64, is_causal=True) == "flash"
    assert way(dtype, 64, keys=7, is_causal=True) == "efficient"
    assert way(dtype, 64, added=torch.zeros(())) == "efficient"


def test_float32_goes_the_efficient_way(generation):
    assert way(torch.float32, 64) == way(torch.float32, 4) == "efficient"
    assert way(torch.float32, 64, keys=7, is_causal=True) == "efficient"


@pytest.mark.parametrize(
    ("dtype", "changed"),
    [
        (torch.float64, {}),
        (torch.float32, {"size": 6}),
        (torch.float16, {"size": 12}),
        (torch.bfloat16, {"size": 264}),
        (torch.bfloat16, {"length": 0}),
        (torch.bfloat16, {"keys": 0}),
        (torch.bfloat16, {"scale": 0.0}),
        (torch.bfloat16, {"scale": -1.0}),
        (torch.bfloat16, {"scale": float("nan")}),
    ],
)
def test_what_no_kernel_takes_is_written_out(generation, dtype, changed):
    assert way(dtype, **{"size": 64, **changed}) == "written"


def test_old_cards_have_fewer_kernels(generation):
    generation(7)
    assert way(torch.float16, 64) == way(torch.float32, 64) == "efficient"
    assert way(torch.bfloat16, 64) == "written"


def test_the_cpu_has_a_kernel_for_all_dtypes():
    assert {way(dtype, 5, card=False) for dtype in (*HALF, torch.float32, torch.float64)} == {"cpu"}
    assert way(torch.float32, 5, length=0, card=False) == "written"


# What kernels of a card are given.


def by_definition(query, key, value, added, is_causal, scale):
    scores = query @ key.mT * scale + (0 if added is None else added)
    if is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape[2:]).tril() == 0, -inf)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


def going_back(grad, query, key, value, added, is_causal, scale):
    inputs = [each.detach().requires_grad_() for each in (query, key, value)]
    made = by_definition(*inputs, added, is_causal, scale)[0]
    return torch.autograd.grad(made, inputs, grad)


def demand_rows(*tensors):
    for each in tensors:
        assert each.stride(-1) == 1
        starts = [each.data_ptr(), *(stride * each.itemsize for stride in each.stride()[:-1])]
        assert not any(start % 16 for start in starts)


class Card:
    """PyTorch's functions for a card."""

    def _scaled_dot_product_flash_attention(self, query, key, value, dropout, is_causal, *, scale):
        demand_rows(query, key, value)
        assert dropout == 0
        assert query.shape[2] == key.shape[2] or not is_causal
        return *by_definition(query, key, value, None, is_causal, scale), None, None, 0, 0, None, None, None

    def _scaled_dot_product_flash_attention_backward(
        self, grad, query, key, value, out, lse, cum_q, cum_k, max_q, max_k, dropout, is_causal, seed, offset, *, scale
    ):
        demand_rows(query, key, value, grad, out)
        assert lse.is_contiguous()
        assert (cum_q, cum_k, max_q, max_k) == (None, None, query.shape[2], key.shape[2])
        return going_back(grad, query, key, value, None, is_causal, scale)

    def _scaled_dot_product_efficient_attention(self, query, key, value, bias, lse_too, dropout, is_causal, *, scale):
        self.demand(query, key, value, bias, dropout)
        assert lse_too
        out, lse = by_definition(query, key, value, bias, is_causal, scale)
        return out, torch.nn.functional.pad(lse, (0, -lse.shape[2] % 32), value=inf), None, None

    def _scaled_dot_product_efficient_attention_backward(
        self, grad, query, key, value, bias, out, lse, seed, offset, dropout, wanted, is_causal, *, scale
    ):
        self.demand(query, key, value, bias, dropout)
        demand_rows(grad, out, lse)
        assert lse.shape[2] % 32 == 0
        assert (lse[..., query.shape[2] :] == inf).all()
        assert wanted == [True, True, True, False]
        return *going_back(grad, query, key, value, bias, is_causal, scale), None

    def demand(self, query, key, value, bias, dropout):
        demand_rows(query, key, value)
        assert dropout == 0
        if bias is not None:
            demand_rows(bias)
            assert bias.shape == (*query.shape[:3], key.shape[2])
            assert bias.dtype == query.dtype

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return SimpleNamespace(default=found) if name.startswith("_scaled") else found


@pytest.fixture
def card(monkeypatch):
    """Lets attention go one of the ways of a card, where one goes there; the others stay as they are."""
    monkeypatch.setattr(kernels, "_aten", Card())

    def go(name):
        monkeypatch.setattr(kernels, "_way", lambda asked: name)

    return go


def waves(*shape, start=0):
    return np.sin(np.arange(start, start + int(np.prod(shape)), dtype=np.float64) ** 1.1).reshape(shape)


def gradients(*given, **kwargs):
    """The result and the gradients."""
    made = dot_product_attention(*given, **kwargs).numpy()
    return [made, *tape_gradient(lambda *each: dot_product_attention(*each, **kwargs), *given)]


def inputs(length, keys, heads=2, size=4):
    return [waves(2, each, heads, size, start=each) for each in (length, keys, keys)]


CASES = {
    "plain": (inputs(5, 7), {}),
    "causal": (inputs(33, 33), {"is_causal": True}),
    "one": (inputs(1, 1, 1), {"is_causal": True, "scale": 0.3}),
    "in front": ([np.asfortranarray(each) for each in inputs(5, 5)], {}),
}
ADDED = {
    "causal": (inputs(5, 7), {"is_causal": True}),
    "mask": (inputs(5, 7), {"mask": waves(5, 7) > 0.2}),
    "mask of keys": (inputs(5, 16), {"mask": waves(2, 1, 1, 16) > 0}),
    "mask of queries": (inputs(5, 7), {"mask": waves(2, 1, 5, 1) > 0}),
    "mask of nothing": (inputs(5, 7), {"mask": waves(5, 7) > 2, "is_causal": True}),
    "bias": ([*inputs(32, 16), waves(2, 2, 32, 16)], {}),
    "bias of keys": ([*inputs(5, 7), waves(7)], {"is_causal": True}),
    "bias of queries": ([*inputs(5, 7), waves(2, 5, 1)], {"mask": waves(5, 7) > 0}),
    "a number": ([*inputs(5, 7), waves()], {}),
}


@pytest.mark.virtual
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["flash", "efficient"])
def test_a_card_is_given_what_it_wants(card, way, case):
    compare(card, way, *CASES[case])


@pytest.mark.virtual
@pytest.mark.parametrize("case", ADDED)
def test_a_card_is_given_what_is_added_as_it_wants_it(card, case):
    compare(card, "efficient", *ADDED[case])


def compare(card, way, given, kwargs):
    card("written")
    expected = gradients(*given, **kwargs)
    card(way)
    for found, exact in zip(gradients(*given, **kwargs), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)
