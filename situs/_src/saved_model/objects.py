"""The objects reachable from a root, with their variables and functions: what ``tf.saved_model.save`` writes.

    root  Net            net.w                  a variable
      w, blocks, f       net.blocks             a list; its savable elements are saved
                         net.f                  a ``tf.function``, with its traces

Numbers, strings and other Python objects are left out, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from situs._src.base.errors import ArgumentError, InvalidArgumentError, shown
from situs._src.checkpoints import tracking
from situs._src.checkpoints.cells import is_variable, variable_of
from situs._src.checkpoints.objects import VALUE, Node, ObjectGraph, children, may_hold_variables
from situs._src.checkpoints.trackable import Trackable
from situs._src.checkpoints.tracking import SAVED_MODEL, functions_of
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method
from situs._src.variables.eager import Variable

LIST, TUPLE, DICT, OBJECT = "list", "tuple", "dict", "object"
VARIABLE, FUNCTION, CONCRETE = "variable", "function", "concrete"


@dataclass
class Saved:
    """One object to be saved: what it is, its children by number, and the way to it."""

    value: Any
    kind: str
    path: str
    children: dict[str, int] = field(default_factory=dict)


def objects_of(root: Any) -> list[Saved]:
    """What is saved of a program; the first is the root.

    Raises:
        ValueError: the root is no object that could be saved.
    """
    if not (isinstance(root, (Trackable, tracking.Trackable)) or hasattr(type(root), "_trackable_children")):
        raise ArgumentError(
            f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for "
            f"export. Got {shown(root)} with type {type(root)}."
        )
    found = _walked(root)
    while _traced(found):  # functions make variables while they are traced
        found = _walked(root)
    return _worth_saving(found)


def _traced(found: list[Saved]) -> bool:
    """Traces functions for their input signatures; whether there was something to trace."""
    functions: list[Function] = [entry.value for entry in found if entry.kind == FUNCTION]
    before = [function.experimental_get_tracing_count() for function in functions]
    for function in functions:
        function.concrete_functions_to_save()
    return before != [function.experimental_get_tracing_count() for function in functions]


def _walked(root: Any) -> list[Saved]:
    found = [Saved(root, OBJECT, "")]
    numbers = {id(root): 0}
    for entry in found:  # which grows meanwhile
        for name, child in _children(entry):
            if id(child) not in numbers:
                numbers[id(child)] = len(found)
                path = f"{entry.path}/{name.replace('.', '..').replace('/', '.S')}".removeprefix("/")
                found.append(Saved(child, _kind(child), path))
            entry.children[name] = numbers[id(child)]
    return found


def _kind(value: Any) -> str:
    if is_variable(value):
        return VARIABLE
    if isinstance(value, Function):
        return FUNCTION
    if isinstance(value, ConcreteFunction):
        return CONCRETE
    for kind, name in ((list, LIST), (tuple, TUPLE), (Mapping, DICT)):
        if isinstance(value, kind):
            return name
    return OBJECT


def first_component(variable: Any) -> Any:
    """The component of a variable of a strategy whose value and whose uses are saved; any other variable as it is."""
    return variable._component() if isinstance(variable, Variable) else variable


def _children(entry: Saved) -> Iterator[tuple[str, Any]]:
    for name, child in _named(entry).items():
        child = variable_of(child)
        child = child.__func__ if isinstance(child, Method) else child
        if isinstance(child, (Function, ConcreteFunction)) or (may_hold_variables(child) and not _is_type(child)):
            yield str(name), child


def _named(entry: Saved) -> dict[Any, Any]:
    value = entry.value
    if entry.kind in (VARIABLE, FUNCTION, CONCRETE):
        return {}
    if entry.kind in (LIST, TUPLE):
        return dict(enumerate(value))
    if entry.kind == DICT:
        return {key: item for key, item in value.items() if isinstance(key, str)}
    if hasattr(type(value), "_trackable_children"):
        return dict(value._trackable_children(SAVED_MODEL))
    return children(value) | functions_of(value)


def _is_type(value: Any) -> bool:
    return isinstance(value, type)


def _worth_saving(found: list[Saved]) -> list[Saved]:
    """The objects that lead to something, or that are there to: others are of Python alone."""
    parents: dict[int, list[int]] = {}
    for number, entry in enumerate(found):
        for child in entry.children.values():
            parents.setdefault(child, []).append(number)
    queue = [number for number, entry in enumerate(found) if number == 0 or _counts(entry)]
    keep = set(queue)
    for number in queue:
        for parent in parents.get(number, ()):
            if parent not in keep:
                keep.add(parent)
                queue.append(parent)
    renumbered = {number: place for place, number in enumerate(sorted(keep))}
    for entry in found:
        entry.children = {name: renumbered[child] for name, child in entry.children.items() if child in keep}
    return [found[number] for number in sorted(keep)]


def _counts(entry: Saved) -> bool:
    if entry.kind in (VARIABLE, FUNCTION, CONCRETE):
        return True
    return entry.kind == OBJECT and isinstance(entry.value, (Trackable, tracking.Trackable))


def checkpoint_graph(found: list[Saved], names: Mapping[int, str]) -> ObjectGraph:
    """The same objects for a checkpoint, under the same numbers.

    Args:
        found: The objects.
        names: The names of the variables in the graph, by number.
    """
    nodes = [
        Node(key=f"{entry.path}{VALUE}", full_name=names[number])
        if entry.kind == VARIABLE
        else Node(dict(entry.children))
        for number, entry in enumerate(found)
    ]
    keys = [node.key for node in nodes if node.key is not None]
    if len(set(keys)) < len(keys):
        raise InvalidArgumentError("Two variables have the same place in the objects of the program.")
    return ObjectGraph(nodes, [entry.value for entry in found])
