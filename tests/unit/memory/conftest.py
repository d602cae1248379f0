"""What these tests share: devices on which nothing is left over from other tests."""

from __future__ import annotations

import gc

import pytest

from situs._src.runtime.eager import convert


@pytest.fixture(autouse=True)
def _clean_devices(quick_collections):
    convert._scalars.clear()  # the constants of expressions such as x * 2.0, which are kept for the next time
    gc.collect()
