"""The frontend of the TensorFlow 1 dialect: its functions build graphs.

    import situs.compat.v1 as tf      ops are added to the default graph
    import situs as tf                ops run at once; so do those of ``tf.compat.v1`` reached through it

Both dialects have the same functions. In this one, each is called while the default graph is being built, unless the
program has called ``tf.enable_eager_execution()``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import FunctionType
from typing import Any

from situs._src.base import lazy
from situs._src.base.absent import hint
from situs._src.base.devices.scope import build_into, here
from situs._src.base.errors import ArgumentError
from situs._src.base.export import AS_IS, export
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph import context
from situs._src.ir.graph.tensor import show_dimensions
from situs._src.ops.python_function import runs_at_once
from situs._src.ops.seeds import control_flow
from situs._src.variables import symbolic

_builds = True


@export(v1="enable_eager_execution", as_is=True)
def enable_eager_execution(config: object = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Lets the ops of this dialect run at once; to be called before anything is built.

    Args:
        config: Accepted for TensorFlow's programs, as the other arguments are; ``tf.config`` says how ops run.
        device_policy: See ``tf.config.experimental.set_device_policy``.
        execution_mode: Ops run one after the other.
    """
    global _builds
    if _builds and len(context.get_default_graph()):
        raise ArgumentError("tf.enable_eager_execution must be called at program startup.")
    _builds = False


@export(v1="disable_eager_execution", as_is=True)
def disable_eager_execution() -> None:
    """Lets ops build graphs, in both dialects."""
    global _builds
    _builds = True
    context.build_by_default()


@export(v1="disable_v2_behavior", as_is=True)
def disable_v2_behavior() -> None:
    """What programs written for TensorFlow 1 expect: `disable_eager_execution` and `disable_v2_tensorshape`."""
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_control_flow_v2()


@export(v1="enable_v2_behavior", as_is=True)
def enable_v2_behavior() -> None:
    """Undoes `disable_v2_behavior`: the same as `enable_eager_execution` and `enable_v2_tensorshape`."""
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_control_flow_v2()


@export(
    v1="disable_v2_tensorshape",
    as_is=True,
    differs="Before it, an unknown dimension x.shape[0] is None in situs.compat.v1, which has no .value; "
    "x.get_shape()[0] and x.shape.dims[0] have one.",
)
def disable_v2_tensorshape() -> None:
    """Lets an unknown dimension of a tensor of a graph, ``x.shape[0]``, be a `Dimension` whose ``value`` is None."""
    show_dimensions(True)


@export(v1="enable_v2_tensorshape", as_is=True)
def enable_v2_tensorshape() -> None:
    """Lets an unknown dimension of a tensor of a graph, ``x.shape[0]``, be None."""
    show_dimensions(False)


_resource_variables = True


@export(v1="enable_resource_variables", as_is=True)
def enable_resource_variables() -> None:
    """Accepted for TensorFlow's programs: there is one kind of variable."""
    global _resource_variables
    _resource_variables = True


@export(v1="disable_resource_variables", as_is=True)
def disable_resource_variables() -> None:
    """Accepted for TensorFlow's programs: there is one kind of variable."""
    global _resource_variables
    _resource_variables = False


@export(v1="resource_variables_enabled", as_is=True)
def resource_variables_enabled() -> bool:
    """What `enable_resource_variables` or `disable_resource_variables` said last."""
    return _resource_variables


@export(v1="enable_control_flow_v2", as_is=True)
def enable_control_flow_v2() -> None:
    """Lets branches and loops count their random operations for themselves; they are single operations in any case."""
    control_flow.is_apart = True


@export(v1="disable_control_flow_v2", as_is=True)
def disable_control_flow_v2() -> None:
    """Counts random operations of branches and loops with the graph's; they are single operations in any case."""
    control_flow.is_apart = False


@export(v1="control_flow_v2_enabled", as_is=True)
def control_flow_v2_enabled() -> bool:
    """What `enable_control_flow_v2` or `disable_control_flow_v2` said last."""
    return control_flow.is_apart


def run_eagerly() -> None:
    """Called when the eager dialect is used: a program of that dialect runs at once, in this spelling too."""
    global _builds
    _builds = False


def _eager_by_default() -> bool:
    """Whether ops called in this dialect run at once where no graph is being built."""
    return not _builds or runs_at_once()


symbolic.eager_by_default = _eager_by_default


@export(v1="executing_eagerly", as_is=True)
def executing_eagerly() -> bool:
    """Whether ops called in this dialect run at once."""
    return here.graph is None and _eager_by_default()


def call_through(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Calls a function of this dialect: the default graph is being built, unless another is or ops run at once."""
    if here.graph is not None or _eager_by_default():
        return function(*args, **kwargs)
    before = build_into(context.get_default_graph(), here.scope)
    try:
        return function(*args, **kwargs)
    finally:
        build_into(*before)


def through(value: object) -> Any:
    """A function as programs of TensorFlow 1 call it; everything else as it is."""
    if not isinstance(value, FunctionType) or value in AS_IS:
        return value
    return builds(value)


def builds(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function, or a method, that is called with the default graph being built."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_through(function, args, kwargs)

    AS_IS.add(call)  # once is enough
    return call


def build_graphs(namespace: dict[str, Any]) -> None:
    """Lets the functions of a public module add to the default graph."""
    for name, value in list(namespace.items()):
        if not name.startswith("_"):
            namespace[name] = through(value)


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for a module whose functions add to the default graph."""
    return lazy.attach(package, through, hint)


@export(v1="name_scope", as_is=True)
def name_scope(name: str | None, default_name: str | None = None, values: ArrayLike | None = None) -> Any:
    """A context that puts a name and a slash before the names of operations of the default graph."""
    if executing_eagerly():
        return context.name_scope(name, default_name)
    wanted = default_name if name is None else name
    if wanted is None and values is not None:
        raise ArgumentError("At least one of name and default_name must be given to tf.name_scope.")
    return (here.graph or context.get_default_graph()).name_scope(wanted)


@export(v1="op_scope", as_is=True)
def op_scope(values: ArrayLike, name: str | None, default_name: str | None = None, graph: Any = None) -> Any:
    """The old spelling of `name_scope`."""
    return name_scope(name, default_name, values)


@export(v1="container", as_is=True)
def container(container_name: str) -> Any:
    """A context for a named part of what a server keeps: each session keeps its own here, whatever the name."""
    if not isinstance(container_name, str):
        raise ArgumentError(f"The name of a container is a string, got {container_name!r}.")
    return nullcontext(container_name)


@export(v1="control_dependencies", as_is=True)
def control_dependencies(control_inputs: object) -> Any:
    """A context whose operations run after the given ones."""
    if executing_eagerly():
        return nullcontext()
    return (here.graph or context.get_default_graph()).control_dependencies(control_inputs)
