"""Nonsense given to any public class: an object is made or it is refused, by an error of ours or Python's own."""

from __future__ import annotations

import inspect
from enum import Enum

import pytest

import situs as tf
from situs._src.ir.graph.context import get_default_graph
from situs.errors import SitusError
from tests.properties.test_refusals import NAMES, VALUES

LASTING = ("InteractiveSession", "test.TestCase", "Supervisor", "flags.FlagValues")  # outlive the test, or log it
INNER = ("flags.Flag",)  # made by functions that check


def _classes():
    """Every public class once, under the first of its names."""
    found = {}
    for name in NAMES:
        value = tf
        for part in name.split("."):
            value = getattr(value, part)
        kind = isinstance(value, type) and not issubclass(value, (Enum, BaseException))
        if kind and value.__module__.startswith("situs.") and not name.endswith(LASTING + INNER):
            found.setdefault(value, name)
    return found


def _made(cls, value, optional):
    try:
        parameters = inspect.signature(cls).parameters.values()
    except ValueError:
        return cls(value)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    others = [p.name for p in parameters if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY]
    return cls(*[value] * len(needed), **dict.fromkeys(others if optional else (), value))


@pytest.fixture(autouse=True)
def _open_graph():
    """Some of the classes close the default graph for changes; other tests use it."""
    yield
    get_default_graph().reopen()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("optional", [False, True], ids=["what is needed", "everything"])
@pytest.mark.parametrize("what", VALUES)
def test_every_class_copes_with(what, optional, tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("CRITICAL", logger="situs")
    wrong = []
    for cls, name in _classes().items():
        try:
            made = _made(cls, VALUES[what], optional)
            getattr(made, "close", lambda: None)()
        except (SitusError, TypeError, ValueError):
            pass
        except Exception as error:
            wrong.append(f"tf.{name}: {type(error).__name__}: {str(error)!a}")
    capfd.readouterr()
    caplog.clear()
    assert not wrong
