"""``tf.keras.layers.Layer``: a function with variables.

    layer(x)
      convert   the arguments to tensors of the layer's compute dtype
      build     the first time: `build(input_shape)` makes variables with `add_weight`
      call      in the layer's name scope, knowing whether it is training

Variables and layers are found by looking at the attributes, lists and dictionaries included. A layer works in eager
code, inside a ``tf.function``, and in a graph for a session. Its variables are where the device scope says when it is
built.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    StateError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.checkpoints.restoration import arrived, is_waiting
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.keras import constraints, initializers, regularizers
from situs._src.keras.layers.arguments import Arguments, plain, split_legacy
from situs._src.keras.layers.calling import call_form, calls, path
from situs._src.keras.layers.holding import Holder
from situs._src.keras.layers.symbolic import Node, as_tuple, has_symbols, remember, scratch
from situs._src.keras.losses.naming import unique_name
from situs._src.keras.metrics.weight_arguments import by_name
from situs._src.keras.policy import AutoCastVariable, DTypePolicy, as_policy, reading_as
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.tracing.autograph.calls import converted
from situs._src.tracing.trace import TracedGraph
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import makes_graph_variables

_KERAS2 = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")
_KERAS3 = ("shape", "initializer", "dtype", "trainable", "autocast", "regularizer", "constraint")


@export("keras.layers.Layer")
class Layer(Holder):
    """The base of layers; one of one's own overrides `build`, if it has variables, and `call`.

    Args:
        activity_regularizer: A function from the outputs to a loss.
        trainable: Whether optimizers should change its variables.
        dtype: A dtype, or a policy, as ``"mixed_float16"``.
        name: A name; by default that of the class, with a number.

    Example:
        >>> import situs as tf
        >>> class Scale(tf.keras.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.factor = self.add_weight(shape=input_shape[-1:], initializer="ones", name="factor")
        ...     def call(self, x):
        ...         return x * self.factor
        >>> scale = Scale(name="mine")
        >>> scale([[1.0, 2.0]]).numpy().tolist(), [v.name for v in scale.weights]
        ([[1.0, 2.0]], ['mine/factor:0'])
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lets the `build` of a new class note that the layer is built, also where a program calls it."""
        super().__init_subclass__(**kwargs)
        if "build" in cls.__dict__:
            setattr(cls, "build", _noting(cls.__dict__["build"]))  # noqa: B010 - a method cannot be assigned to

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A layer that remembers the arguments it is made with, for `get_config`."""
        made = super().__new__(cls)
        made.__dict__["_made_with"] = Arguments(args, kwargs)
        return made

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._input_shape_arg = split_legacy(kwargs, type(self).__name__)
        if name is not None:
            self._name = str(name)
        elif "_name" not in self.__dict__:  # a layer that is made again has one
            self._name = unique_name(type(self).__name__)
        self._added: list[Any] = []
        self._losses: tuple[int, list[Any]] = (0, [])
        self._regularized: list[tuple[Any, Any]] = []
        self._called_at: int | None = None
        self.nodes: list[Node] = []  # the calls of drawn models
        self._trainable = bool(trainable)
        self.autocast = autocast
        self.dtype_policy: DTypePolicy = as_policy(dtype)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.built = False

    # What it is.

    @property
    def dtype(self) -> Any:
        """The name of the dtype of its variables."""
        return self.dtype_policy.variable_dtype

    @property
    def variable_dtype(self) -> str:
        """The same as `dtype`."""
        return self.dtype_policy.variable_dtype

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype that it computes in."""
        return self.dtype_policy.compute_dtype

    @property
    def path(self) -> str:
        """The name of the layer, with those of the layers around it."""
        return str(self.__dict__.get("_path", self._name))

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with, as plain data."""
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype_policy.name}
        made_with: Arguments = self.__dict__["_made_with"]
        return {**{key: plain(value) for key, value in made_with.of(type(self)).items()}, **config}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A layer made with the arguments that `get_config` returned."""
        return cls(**{key: _from_plain(value) for key, value in config.items()})

    def _made_again(self) -> Any:
        """A layer made with the same arguments, layers among them made again too: with variables of its own."""
        made_with: Arguments = self.__dict__["_made_with"]
        args = tuple(map(_again, made_with.args))
        kwargs = {key: _again(item) for key, item in made_with.kwargs.items()}
        made = type(self).__new__(type(self), *args, **kwargs)
        made._name = self.name  # before it would take the next number
        made.__init__(*args, **kwargs)
        made._name = self.name
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"

    @property
    def input(self) -> Any:
        """What it was called with in the last model drawn with it."""
        return self._node().inputs[0] if len(self._node().inputs) == 1 else self._node().inputs

    @property
    def output(self) -> Any:
        """What it gave in the last model drawn with it."""
        return self._node().outputs

    def _node(self) -> Node:
        if not self.nodes:
            raise ArgumentError(
                f"The layer {self.name} has never been called with a keras.Input and thus has no defined input or "
                "output."
            )
        return self.nodes[-1]

    # Making variables.

    def build(self, input_shape: Any) -> None:
        """Makes the variables; layers override it.

        Args:
            input_shape: The shape of the first argument of `call`, as a tuple with None for what is unknown.
        """

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a variable of this layer, placed as the device scope says.

        Args:
            *args: The first may be the shape (and the next the initializer), or the name (and the next the shape).
            **kwargs: ``shape``; ``initializer``, by default Glorot's uniform one for floating-point dtypes and zeros
                for others; ``dtype``, by default the layer's; ``trainable``; ``regularizer``, a function from the
                variable to one of `losses`; ``constraint``, which optimizers apply; ``name``.
        """
        self._check_made()
        given = by_name(args, kwargs, _KERAS2, _KERAS3)
        name = given.get("name") or "variable"
        variable = self._make_variable(name, given)
        self._added.append(variable)
        regularizer = regularizers.get(given.get("regularizer"))
        if regularizer is not None:
            self._regularized.append((variable, regularizer))
        if is_waiting(self):
            arrived(self, name, variable)
        return variable

    def _make_variable(self, name: str, given: dict[str, Any]) -> Any:
        dtype = as_dtype(given.get("dtype") or self.dtype_policy.variable)
        initializer = initializers.get(given.get("initializer"))
        if initializer is None:
            initializer = initializers.GlorotUniform() if dtype.is_floating else initializers.Zeros()
        shape = () if given.get("shape") is None else tuple(TensorShape(given["shape"]))
        kind = AutoCastVariable if self._casts() and dtype.is_floating and given.get("autocast", True) else Variable
        full = name if makes_graph_variables() and here.graph is not None else f"{self.path}/{name}/"
        return kind(
            lambda: initializer(shape, dtype=dtype),
            given.get("trainable", True) is not False,
            name=full,
            dtype=dtype,
            constraint=constraints.get(given.get("constraint")),
        )

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The old name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _casts(self) -> bool:
        return self.dtype_policy.compute is not self.dtype_policy.variable

    # Calling.

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """What the layer does; layers override it."""
        raise UnimplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if it is not, and calls it."""
        self._check_made()
        if len(args) == 1 and not kwargs and type(args[0]) is EagerTensor:
            return self._call_here(args, kwargs)
        if has_symbols(args, kwargs):
            return remember(self, args, kwargs)
        graph = _graph_of(args)
        if graph is not None and here.graph is None:
            with graph.as_default():
                return self._call_here(args, kwargs)
        return self._call_here(args, kwargs)

    def _call_here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        form = call_form(type(self).call)
        if not args and form.names and form.names[0] in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(form.names[0]),)
        args = tuple([self._as_input(value) for value in args])
        kwargs = {key: self._as_input(value) for key, value in kwargs.items()}
        given, by_position = form.training_in(args, kwargs)
        training = calls.training if given is None else given
        kwargs.pop("training", None)
        if form.takes_training and training is not None and not by_position:
            kwargs["training"] = training
        if not self.built and "_path" not in self.__dict__:
            self._path = path(self.name)
        outermost = not calls.names
        before = calls.enter(self._name, training)
        if outermost and not calls.drawn:
            self.__dict__["_called_at"] = calls.number  # no attribute that a checkpoint could wait for
        try:
            if here.graph is None and not self._casts():
                return self._call_inside(args, kwargs)
            with nullcontext() if here.graph is None else self._name_scope(), reading_as(self.dtype_policy.compute):
                return self._call_inside(args, kwargs)
        finally:
            calls.leave(before)

    def _call_inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.built:
            self._build_for(args, kwargs)
        outputs = self._run(args, kwargs)
        if self.activity_regularizer is not None:
            self.add_loss([self.activity_regularizer(output) for output in flatten(outputs)])
        if calls.shapes is not None:
            calls.shapes[id(self)] = _shapes(outputs)
        return outputs

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs `call`: converted by AutoGraph, if it is the program's own and a graph is being made."""
        call = self.call if here.graph is None else converted(self.call)
        return call(*args, **kwargs)

    def _name_scope(self) -> Any:
        return name_scope(self.name)

    def _build_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Builds the layer for the arguments of its first call."""
        self.build(_shapes(args[0]) if args else None)
        self.built = True

    def _as_input(self, value: Any) -> Any:
        """A value as `call` gets it: arrays as tensors, floating-point ones in the compute dtype."""
        if type(value) is EagerTensor and value.dtype is self.dtype_policy.compute:
            return value
        if isinstance(value, (list, tuple, dict)) and not is_tensor(value):
            parts = flatten(value)
            if parts and all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in parts):
                return self._as_input(convert_to_tensor(value))
            return pack_like(value, [self._as_input(part) for part in parts])
        if hasattr(value, "__array__") and not is_tensor(value):
            value = convert_to_tensor(value)
        if isinstance(value, Tensor) and self.autocast and value.dtype.is_floating:
            wanted = self.dtype_policy.compute
            return value if value.dtype is wanted or not wanted.is_floating else cast(value, wanted)
        return value

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for inputs of a shape."""
        with scratch() as graph:
            return _shapes(self(tensors_of(graph, self.dtype_policy.compute, input_shape)))

    def _check_made(self) -> None:
        if "_added" not in self.__dict__:
            raise StateError(
                f"In layer {type(self).__name__}, you forgot to call `super().__init__()` as the first statement in "
                "the `__init__()` method."
            )

    # What built-in layers share.

    def _floating(self, value: Any) -> Any:
        """Whole numbers as numbers of the compute dtype; what has a gradient as it is."""
        return value if value.dtype.is_floating else cast(value, self.dtype_policy.compute)


def _noting(build: Callable[..., Any]) -> Callable[..., Any]:
    """A `build` after whose outermost call the layer is built."""

    @functools.wraps(build)
    def noted(self: Layer, *args: Any, **kwargs: Any) -> None:
        inner = self.__dict__.get("_building", False)
        self.__dict__["_building"] = True
        try:
            build(self, *args, **kwargs)
        finally:
            self.__dict__["_building"] = inner
        if not inner:
            self.built = True

    return noted


def _again(value: Any) -> Any:
    """An argument of a layer for another one like it."""
    if type(value) in (list, tuple):
        return type(value)(_again(item) for item in value)
    return value._made_again() if isinstance(value, Layer) else value


def _from_plain(value: Any) -> Any:
    """An argument that `plain` made data of: layers are made again, if the program knows their classes."""
    if type(value) in (list, tuple):
        return type(value)(_from_plain(item) for item in value)
    if not isinstance(value, dict) or value.keys() != {"module", "class_name", "config"}:
        return value
    known = {(kind.__module__, kind.__name__): kind for kind in _subclasses(Layer)}
    kind = known.get((value["module"], value["class_name"]))
    return value if kind is None else kind.from_config(value["config"])


def _subclasses(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _graph_of(args: tuple[Any, ...]) -> Any:
    """The graph of the first argument, if it is, or contains, a tensor of a graph."""
    symbols = (leaf for leaf in flatten(list(args[:1])) if isinstance(leaf, SymbolicTensor))
    return next((symbol.graph for symbol in symbols), None)


def _shapes(value: Any) -> Any:
    """The shapes of tensors, in the form that these have; None for what is no tensor."""
    if isinstance(value, (list, tuple, dict)):
        return pack_like(value, [_shapes(leaf) for leaf in flatten(value)])
    if not hasattr(value, "shape"):
        return None
    shape = TensorShape(value.shape)
    return None if shape.rank is None else as_tuple(shape)


def tensors_of(graph: TracedGraph, dtype: Any, shape: Any) -> Any:
    """A tensor of a graph that has no value, of one shape; a list of them, for a list of shapes."""
    if not isinstance(shape, (list, tuple, TensorShape)):
        raise DTypeError(f"A shape is a tuple of sizes, or a list of such, got {shown(shape)}.")
    if isinstance(shape, list) and shape and isinstance(shape[0], (list, tuple, TensorShape)):
        return [graph.add_argument(dtype, TensorShape(each)) for each in shape]
    return graph.add_argument(dtype, TensorShape(shape))
