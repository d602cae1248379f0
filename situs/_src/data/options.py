"""``tf.data.Options``: options of a whole pipeline.

    options = tf.data.Options()
    options.deterministic = False
    ds = ds.with_options(options)

Options of a dataset apply to everything it consists of. Most of TensorFlow's options concern rewriting of pipelines
that does not happen here: they are accepted, stored and merged, without effect.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.data.base import DatasetV2
from situs._src.data.element import Element
from situs._src.data.node import Binding, Node, Stream, Transformation


@export("data.experimental.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


@export("data.experimental.ExternalStatePolicy")
class ExternalStatePolicy(enum.IntEnum):
    """What to do about state outside of a dataset when it is written down."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


@export("data.experimental.AutotuneAlgorithm")
class AutotuneAlgorithm(enum.IntEnum):
    """TensorFlow's ways to find the best number of parallel calls."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Fields:
    """Named values, None until they are set, and no others."""

    _names: ClassVar[dict[str, Any]] = {}  # each with the types it may have, or the class of what it holds

    def __init__(self) -> None:
        for name, kind in self._names.items():
            nested = isinstance(kind, type) and issubclass(kind, _Fields)
            object.__setattr__(self, name, kind() if nested else None)

    def __setattr__(self, name: str, value: object) -> None:
        kind = self._names.get(name)
        if kind is None:
            known = ", ".join(self._names)
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}; it has: {known}.")
        if value is not None and not isinstance(value, kind):
            raise DTypeError(f"{type(self).__name__}.{name} does not take {value!r} of type {type(value).__name__!r}.")
        object.__setattr__(self, name, value)

    def _merged(self, other: _Fields) -> Self:
        """These values, with those of another in their place where it has some."""
        made = type(self)()
        for name in self._names:
            object.__setattr__(made, name, _merged_value(getattr(self, name), getattr(other, name)))
        return made

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self._names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = [(name, getattr(self, name)) for name in self._names]
        said = [f"{name}={value!r}" for name, value in values if not _is_empty(value)]
        return f"{type(self).__name__}({', '.join(said)})"


def _merged_value(mine: Any, theirs: Any) -> Any:
    if theirs is None:
        return mine
    return mine._merged(theirs) if isinstance(mine, _Fields) else theirs


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, _Fields) and value == type(value)())


@export("data.experimental.AutotuneOptions")
class AutotuneOptions(_Fields):
    """Whether and how numbers of parallel calls are found: taken, and without effect."""

    _names: ClassVar[dict[str, Any]] = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
        "min_parallelism": int,
    }


@export("data.experimental.DistributeOptions")
class DistributeOptions(_Fields):
    """How the dataset is divided among workers."""

    _names: ClassVar[dict[str, Any]] = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}


@export("data.experimental.OptimizationOptions")
class OptimizationOptions(_Fields):
    """Which rewritings TensorFlow would try: taken, and without effect."""

    _names: ClassVar[dict[str, Any]] = dict.fromkeys(
        (
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
        ),
        bool,
    )


@export("data.ThreadingOptions", "data.experimental.ThreadingOptions", v1=())
class ThreadingOptions(_Fields):
    """How many threads there may be: taken, and without effect."""

    _names: ClassVar[dict[str, Any]] = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


@export("data.Options")
class Options(_Fields):
    """What a program asks of a whole pipeline. ``deterministic`` says whether parallel stages keep the order.

    Example:
        >>> options = Options()
        >>> options.deterministic = False
        >>> options
        Options(deterministic=False)
    """

    _names: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_threading": ThreadingOptions,
        "experimental_warm_start": bool,
        "framework_type": list,
        "threading": ThreadingOptions,
    }

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__("deterministic" if name == "experimental_deterministic" else name, value)

    @property
    def experimental_deterministic(self) -> bool | None:
        """An older name of ``deterministic``."""
        return getattr(self, "deterministic", None)

    @property
    def keeps_order(self) -> bool:
        """Whether parallel stages keep the order of the elements where nothing else is said."""
        return getattr(self, "deterministic", None) is not False

    def merge(self, options: object) -> Options:
        """These options, with those that another has set in their place."""
        if not isinstance(options, Options):
            raise ArgumentError(f"Options are merged with tf.data.Options, got {options!r}.")
        return self._merged(options)


# Datasets with options.


class Optioned(DatasetV2):
    """Datasets that are asked for something."""

    def options(self) -> Options:
        """The options of the dataset: its own, and those of what it is made of."""
        return options_of(self._node)

    def with_options(self, options: object, name: str | None = None) -> Self:
        """The same dataset, with options for the whole of it."""
        if not isinstance(options, Options):
            raise DTypeError(f"with_options() takes tf.data.Options, got {options!r}.")
        return self._of(WithOptions(self._node, Options().merge(options)))


class WithOptions(Transformation):
    """The same elements, with options."""

    title = "Options"

    def __init__(self, input: Node, options: Options) -> None:
        super().__init__(input)
        self.options = options

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return self.input.start(binding)

    def start_after(self, binding: Binding, count: int) -> Stream:
        """Begins an iteration behind the first elements."""
        return self.input.start_after(binding, count)

    def at(self, binding: Binding, index: int) -> Element:
        """The same element."""
        return self.input.at(binding, index)

    def cardinality(self, binding: Binding) -> int:
        """As many as there were."""
        return self.input.cardinality(binding)


def options_of(node: Node) -> Options:
    """The options of a node and of all below it; those further up win."""
    found = Options()
    for said in _said(node):
        found = found.merge(said)
    return found


def _said(node: Node) -> Iterator[Options]:
    """The options in a pipeline, in the order in which one takes the place of another."""
    for below in node.inputs:
        yield from _said(below)
    if isinstance(node, WithOptions):
        yield node.options
