"""Memory that is moved to the host and back."""

from __future__ import annotations

import pytest
import torch

from situs._src.base.devices.inventory import process
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.run.offload import Away, may_move, moved


@pytest.fixture
def gpu():
    return next(d for d in process.devices() if d.short_name == "GPU:3")


def test_what_comes_back_is_what_went(gpu):
    base = torch.arange(24.0, device=torch_device(gpu)).reshape(2, 3, 4)
    values = [base, base[1:], base.transpose(0, 2), base.expand(5, 2, 3, 4), base[..., 1::2]]
    storage = base.untyped_storage()
    away = Away(storage, gpu)
    views = [away.view(value) for value in values]
    expected = [value.clone() for value in values]
    del base
    for view, value, truth in zip(views, values, expected, strict=True):
        back = view.bring()
        assert torch.equal(back, truth)
        assert (back.stride(), back.storage_offset(), back.dtype) == (
            value.stride(),
            value.storage_offset(),
            value.dtype,
        )


def test_what_shared_memory_shares_it_again_and_is_counted_once(gpu):
    base = torch.arange(1024.0, device=torch_device(gpu))
    away = Away(base.untyped_storage(), gpu)
    first, second = away.view(base), away.view(base[10:])
    before, held = moved(), gpu.account.usage().current
    a, b = first.bring(), second.bring()
    assert a.untyped_storage()._cdata == b.untyped_storage()._cdata
    assert gpu.account.usage().current - held == 4096
    assert moved().to_device - before.to_device == 4096
    del a, b
    assert gpu.account.usage().current == held
    assert torch.equal(first.bring(), base)  # and once more


def test_what_is_more_than_its_memory_stays():
    assert may_move(torch.ones(3))
    assert not may_move(torch.ones(3, dtype=torch.complex64).conj())
    assert not may_move(torch.ones(0))
