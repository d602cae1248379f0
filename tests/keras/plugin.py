"""A pytest plugin for Keras' own tests: what stands beneath Keras, what its conftest has, and how long a file may take.

`run.py` starts pytest with it. The tests import ``conftest.skip_if_backend``: the wheel has no conftest, so this module
is that too. SITUS_KERAS_TESTS_ON says what is beneath: ``situs``, or ``tensorflow`` for what really is TensorFlow.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import importlib.util
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

if os.environ.get("SITUS_KERAS_TESTS_ON", "situs") == "situs":
    import situs

    situs.install_as_tensorflow(replace=True)
else:
    import torch  # noqa: F401 - before TensorFlow: the other way round the two do not get along

os.environ["KERAS_BACKEND"] = "tensorflow"


class _LackingClass(type):
    """The class of what is in a package that is not installed: nothing is one of these, and they can do nothing."""

    def __getattr__(cls, name: str) -> object:
        raise ModuleNotFoundError(f"No module named {cls.__module__!r}", name=cls.__module__)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        raise ModuleNotFoundError(f"No module named {cls.__module__!r}", name=cls.__module__)


class _Lacking(ModuleType):
    """Stands for a package that some files of tests import and few of their tests use: these fail, and say why."""

    def __getattr__(self, name: str) -> object:
        if name[:1].isupper():
            return _LackingClass(name, (), {"__module__": self.__name__})
        if name.startswith("__"):  # asked of every module, by `inspect` for one
            raise AttributeError(name)
        raise ModuleNotFoundError(f"No module named {self.__name__!r}", name=self.__name__)


for _package in ("grain", "jax"):
    if importlib.util.find_spec(_package) is None:
        sys.modules[_package] = _Lacking(_package)
LIMIT = int(os.environ.get("SITUS_KERAS_TESTS_LIMIT", "900"))  # seconds a file may take
sys.modules["conftest"] = sys.modules[__name__]


class FileTimeoutError(Exception):
    """The tests of one file took longer than they may."""


def skip_if_backend(given: str, reason: str) -> pytest.MarkDecorator:
    """What Keras' tests import from their conftest: leaves out a test on one backend."""
    return pytest.mark.skipif(given == "tensorflow", reason=reason)


def pytest_configure(config: pytest.Config) -> None:
    """Knows the marks of Keras' tests, and has scikit-learn make ids without addresses: all processes must agree."""
    for mark in ("requires_trainable_backend", "multi_device"):
        config.addinivalue_line("markers", f"{mark}: of Keras' tests")
    if importlib.util.find_spec("sklearn") is not None:
        checks = importlib.import_module("sklearn.utils.estimator_checks")
        named = checks._get_check_estimator_ids
        checks._get_check_estimator_ids = lambda value: re.sub(r"\s*at\s*0x[0-9a-f]+", "", named(value) or "")


class _Clock:
    """How long the tests of a file have run in this process."""

    spent: dict[Path, float] = {}


def _late(number: int, frame: object) -> None:
    raise FileTimeoutError(f"The tests of this file took longer than {LIMIT} seconds.")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Puts what earlier files left aside for the garbage collector, which some tests call often."""
    if item.path not in _Clock.spent:
        _Clock.spent[item.path] = 0.0
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> object:
    """Stops a test when its file has run too long; a process that does not stop by itself is ended."""
    left = max(1.0, LIMIT - _Clock.spent.get(item.path, 0.0))
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, left)
    faulthandler.dump_traceback_later(left + 60, exit=True, file=sys.__stderr__)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _Clock.spent[item.path] = _Clock.spent.get(item.path, 0.0) + time.monotonic() - began


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes down what became of a test, in the process that has all reports."""
    path = os.environ.get("SITUS_KERAS_TESTS_RESULTS")
    if not path or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if report.when != "call" and report.passed:
        return
    line = {"id": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2)}
    if report.failed:
        line["why"] = str(report.longrepr)[-1500:]
    if hasattr(report, "wasxfail"):
        line["outcome"] = "xfailed"
    with Path(path).open("a") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is one failure."""
    path = os.environ.get("SITUS_KERAS_TESTS_RESULTS")
    if path and report.failed:  # every process collects; the same line twice does no harm
        with Path(path).open("a") as file:
            file.write(
                json.dumps({"id": report.nodeid, "outcome": "failed", "why": str(report.longrepr)[-1500:]}) + "\n"
            )
