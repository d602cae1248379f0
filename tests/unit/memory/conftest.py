"""What these tests share: devices on which nothing is left over from other tests."""

from __future__ import annotations

import gc

import pytest

from situs._src.runtime.eager import convert


@pytest.fixture(autouse=True, scope="module")
def _rest_of_the_process():
    """Leaves what there is by now, such as modules of libraries, out of the collections below: they are quick then."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _clean_devices(_rest_of_the_process):
    convert._scalars.clear()  # the constants of expressions such as x * 2.0, which are kept for the next time
    gc.collect()
