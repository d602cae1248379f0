"""Every public function and class, called with anything, in eager programs and in graphs."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from enum import EnumType
from pathlib import Path
from random import Random
from typing import Any

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices.scope import build_into, here
from tests.fuzz.case import Case
from tests.fuzz.values import Values

NAMES = (Path(__file__).parents[2] / "contract" / "public_names.txt").read_text().split()
_ENDS = ("app.run", "test.main", "memory.swap_to_host", "memory.record", "checkpoints_iterator", "InteractiveSession")
_GIVES_UP = ("config.reset",)
_WAITS = ("wait_for_new_checkpoint", "start_queue_runners", "Supervisor", "SessionManager")
_OTHER = (".logging.", ".gfile.", "flags.", "test.", "file_io.", "assert_all_finite_but")  # logs, deletes, remembers
_SETTINGS = (
    "set_",
    "enable_",
    "disable_",
    "reset_",
    "run_functions_",
    "experimental_run_functions_",
    "experimental_enable_",
    "install_",
)


def asked(name: str) -> bool:
    """Whether a call under this name changes no setting of the process, waits for nobody and deletes nothing."""
    last = name.rpartition(".")[2]
    return not (
        name.endswith((*_ENDS, *_WAITS, *_GIVES_UP))
        or any(o in f".{name}" for o in _OTHER)
        or last.startswith(_SETTINGS)
    )


def arguments(random: Random, function: Callable[..., Any], values: Values) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit the parameters of a function in number and names, if in nothing else."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [values.any(random) for _ in range(random.randint(0, 3))], {}
    given: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            given += [values.any(random) for _ in range(random.randint(0, 2))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty:
            if random.random() < 0.3 and parameter.kind is not parameter.POSITIONAL_ONLY:
                named[parameter.name] = values.any(random)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = values.any(random)
        else:
            given.append(values.any(random))
    return given, named


class Calls:
    """Cases of calls that run at once."""

    def __init__(self, folder: Path) -> None:
        self._values = Values()
        names = [name for name in NAMES if not name.startswith("compat.v1") and asked(name)]
        self._functions = _callable(tf, names)

    def case(self, random: Random) -> Case:
        """A function with arguments of all kinds."""
        name, function = random.choice(self._functions)
        given, named = arguments(random, function, self._values)
        shown = f"tf.{name}(*{self._values.shown(given)}, **{self._values.shown(named)})"
        return Case(shown, lambda: eagerly(function, given, named), plain=True)


class GraphCalls:
    """Cases of calls that build a graph."""

    def __init__(self, folder: Path) -> None:
        self._values = Values(graph=True)
        names = [name.removeprefix("compat.v1.") for name in NAMES if name.startswith("compat.v1.") and asked(name)]
        self._functions = _callable(v1, names)

    def case(self, random: Random) -> Case:
        """A function with arguments of all kinds, in a graph of its own."""
        name, function = random.choice(self._functions)
        graph = v1.Graph()
        with graph.as_default():
            given, named = arguments(random, function, self._values)
        shown = f"v1.{name}(*{self._values.shown(given)}, **{self._values.shown(named)})"
        return Case(shown, lambda: _in_graph(graph, function, given, named), plain=True)


def _callable(door: Any, names: list[str]) -> list[tuple[str, Callable[..., Any]]]:
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for name in names:
        value = door
        for part in name.split("."):
            value = getattr(value, part)
        if callable(value) and not isinstance(value, (types.ModuleType, EnumType)):
            found.setdefault(id(value), (name, value))
    return list(found.values())


def eagerly(function: Callable[..., Any], given: list[Any], named: dict[str, Any]) -> Any:
    """Calls a function where ops run at once; what it leaves open is closed."""
    before = build_into(None, here.scope)
    try:
        return _closed(function(*given, **named))
    finally:
        build_into(*before)


def _in_graph(graph: Any, function: Callable[..., Any], given: list[Any], named: dict[str, Any]) -> Any:
    with graph.as_default():
        return _closed(function(*given, **named))


def _closed(made: Any) -> Any:
    if isinstance(made, v1.Session):
        made.close()
    return made
