"""The examples in docstrings are run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import situs

NOT_IMPORTED = ("situs.__main__", "situs._src.ops.philox.kernels")  # a program; what needs Triton


def modules():
    for info in pkgutil.walk_packages(situs.__path__, "situs."):
        if info.name not in NOT_IMPORTED:
            yield importlib.import_module(info.name)


def test_examples_in_docstrings_do_what_they_show():
    results = [doctest.testmod(module) for module in modules()]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) >= 15
