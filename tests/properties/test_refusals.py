"""Nonsense given to any public function: it works or is refused by an error of ours, and nothing leaks."""

from __future__ import annotations

import inspect
import types
from pathlib import Path

import numpy as np
import pytest

import situs as tf
from situs._src.ir.graph.context import get_default_graph
from situs.errors import SitusError

NAMES = (Path(__file__).parents[1] / "contract" / "public_names.txt").read_text().split()
CONTAINS_ITSELF: list[object] = []
CONTAINS_ITSELF.append(CONTAINS_ITSELF)
VALUES = {
    "None": None,
    "a word": "\ud800",
    "an object": object(),
    "a class": int,
    "a large number": 10**400,
    "not a number": float("nan"),
    "a list in itself": CONTAINS_ITSELF,
    "a ragged list": [[1, 2], [3]],
    "objects": np.array([None, 1], object),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "booleans": np.array([[True, False]]),
    "numbers": np.array([[1.5, 2.5], [0.0, -1.0]], np.float32),
    "a scalar": np.array(1),
}


def _is_question(name: str) -> bool:
    """Whether a name is a function that changes no setting of the process, and does not end it either."""
    changes = (
        "app.run",
        "test.main",
        "memory.swap_to_host",
        "memory.record",
        "profiler.experimental.start",
        "config.reset",
    )
    others = (".logging.", ".flags.")  # what is logged ends up in test reports; flags are absl's
    if name.endswith(changes) or any(part in name for part in others):
        return False
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    last = name.rpartition(".")[2]
    return isinstance(found, types.FunctionType) and not last.startswith(
        (
            "set_",
            "enable_",
            "disable_",
            "reset_",
            "run_functions_",
            "experimental_run_functions_",
            "experimental_enable_",
        )
    )


def _call(name: str, value: object) -> None:
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    function(*([value] * max(len(needed), 1 if parameters else 0)))


@pytest.fixture(autouse=True)
def _open_graph():
    """Some of the functions close the default graph for changes; other tests use it."""
    yield
    get_default_graph().reopen()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", VALUES)
def test_every_function_copes_with(what, capfd, caplog):
    caplog.set_level("CRITICAL", logger="situs")  # what is logged of these values has no place in a report
    for name in filter(_is_question, NAMES):
        try:
            _call(name, VALUES[what])
        except SitusError:
            pass
        except Exception as error:
            pytest.fail(f"tf.{name} of {what}: {type(error).__name__}: {str(error)!a}")
    capfd.readouterr()
    caplog.clear()
