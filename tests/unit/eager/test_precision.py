"""TensorFloat-32: on as in TensorFlow, and PyTorch is told when a card is used."""

from __future__ import annotations

import pytest
import torch

import situs as tf
from situs._src.runtime.eager import precision
from situs.errors import DTypeError


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    monkeypatch.setattr(precision, "_enabled", True)
    monkeypatch.setattr(precision, "_has_card", False)
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32 = before[1]


def test_it_is_on_and_can_be_switched_off():
    assert tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    assert not tf.config.experimental.tensor_float_32_execution_enabled()


def test_pytorch_is_left_alone_until_a_card_is_used():
    torch.set_float32_matmul_precision("highest")
    tf.config.experimental.enable_tensor_float_32_execution(True)
    assert torch.get_float32_matmul_precision() == "highest"
    precision.apply()
    assert torch.get_float32_matmul_precision() == "high"
    tf.config.experimental.enable_tensor_float_32_execution(False)
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize("value", ["yes", None, 1.5])
def test_it_is_on_or_off(value):
    with pytest.raises(DTypeError, match="Expected bool for argument 'enabled'"):
        tf.config.experimental.enable_tensor_float_32_execution(value)
