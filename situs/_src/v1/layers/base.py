"""``tf.layers.Layer``: a function with variables from ``get_variable``, in its own variable scope.

    tf.layers.dense(x, 10)                          dense/kernel, dense/bias; the next one has dense_1/...
    tf.layers.dense(x, 10, name="fc")               fc/kernel, fc/bias
    tf.layers.dense(y, 10, name="fc", reuse=True)   the same variables; operations in fc_1/

So a layer respects the enclosing variable scopes: their names, reuse, initializers and regularizers. Regularization
losses are in ``REGULARIZATION_LOSSES``, operations to run with a training step in ``UPDATE_OPS``.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype, float32
from situs._src.base.errors import DTypeError, StateError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten, pack_like
from situs._src.checkpoints.modules import Module
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.tracing.autograph.calls import converted
from situs._src.v1.by_name import initializer_of
from situs._src.variables.collections import GraphKeys
from situs._src.variables.scope import VariableScope, get_variable, variable_scope
from situs._src.variables.symbolic import makes_graph_variables


@export(v1="layers.Layer")
class Layer(Module):
    """The base of the layers of TensorFlow 1; one of one's own overrides `build`, if it has variables, and `call`.

    Args:
        trainable: Whether optimizers should change its variables.
        name: The name of its variable scope; by default that of the class, with a number.
        dtype: The dtype of its variables; by default that of its first input.
        activity_regularizer: A function from the outputs to a loss.
        kwargs: ``_scope`` and ``_reuse``: the variable scope, and whether its variables are there already.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        activity_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        if kwargs:
            raise DTypeError(f"{type(self).__name__} has no argument {', '.join(sorted(map(str, kwargs)))}.")
        self._name = self._base_name = name or in_words(type(self).__name__)
        self._dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self._added: list[Any] = []  # variables
        self.trainable = bool(trainable)
        self.activity_regularizer = activity_regularizer
        self.built = False
        self._scope: VariableScope | None = None
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    def _check_made(self) -> None:
        if "_added" not in self.__dict__:
            raise StateError(f"{type(self).__name__} has not called `super().__init__()` in its `__init__`.")

    @property
    def scope_name(self) -> str:
        """The name of its variable scope."""
        self._set_scope(None)
        assert self._scope is not None
        return self._scope.name

    @property
    def graph(self) -> Any:
        """The graph of its variables."""
        return self.weights[0].graph if self.weights else get_default_graph()

    @property
    def dtype(self) -> DType | None:
        """The dtype of its variables; None before it is known."""
        return self._dtype

    # Its variables.

    @property
    def weights(self) -> list[Any]:
        """Its variables, and those of the layers that its attributes lead to."""
        self._check_made()
        found = [*self._added, *super().variables]
        return list({id(variable): variable for variable in found}.values())

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers should change."""
        return [variable for variable in self.weights if variable.trainable] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that optimizers should leave alone."""
        changed = {id(variable) for variable in self.trainable_weights}
        return [variable for variable in self.weights if id(variable) not in changed]

    @property
    def variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `weights`."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `non_trainable_weights`."""
        return self.non_trainable_weights

    def count_params(self) -> int:
        """How many numbers its variables hold."""
        return sum(variable.shape.num_elements() or 0 for variable in self.weights)

    def add_weight(
        self,
        name: str,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
    ) -> Any:
        """Makes a variable of this layer, or finds it where the variable scope reuses variables.

        Args:
            name: Its name below that of the layer.
            shape: Its shape.
            dtype: Its dtype; by default that of the layer.
            initializer: How it begins; by default as the variable scope says.
            regularizer: A function from the variable to a loss, which joins ``REGULARIZATION_LOSSES``.
            trainable: Whether optimizers should change it.
            constraint: What optimizers apply to it.
        """
        self._check_made()
        for function, what in ((regularizer, "regularizer"), (constraint, "constraint")):
            if function is not None and not callable(function):
                raise DTypeError(f"The {what} of {name!r} is a function of a variable, got {shown(function)}.")
        self._set_scope(None)
        graph = get_default_graph()
        before = {id(variable) for variable in graph.get_collection_ref(GraphKeys.GLOBAL_VARIABLES)}
        with variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False):
            variable = get_variable(
                name,
                shape,
                as_dtype(dtype or self._dtype or float32),
                initializer_of(initializer),
                trainable=trainable and self.trainable,
                constraint=constraint,
            )
        if regularizer is not None and here.graph is not None and id(variable) not in before:
            self._regularize(variable, regularizer)
        self._added.append(variable)
        return variable

    def _regularize(self, variable: Any, regularizer: Any) -> None:
        """Adds the loss of a layer's own regularizer; the variable scope's has been added by then."""
        graph = get_default_graph()
        with graph.colocate_with(variable.op), graph.name_scope(f"{variable.op.name}/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Another name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations to ``UPDATE_OPS``, for the program to run with its training step."""
        self._collect(updates, GraphKeys.UPDATE_OPS)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to ``REGULARIZATION_LOSSES``."""
        self._collect(losses, GraphKeys.REGULARIZATION_LOSSES)

    def _collect(self, values: Any, key: str) -> None:
        if here.graph is None:
            return
        collected = get_default_graph().get_collection_ref(key)
        for value in flatten(values):
            found = getattr(value, "op", value) if key == GraphKeys.UPDATE_OPS else value
            if not any(found is each for each in collected):
                collected.append(found)

    # Calling.

    def build(self, input_shape: Any) -> None:
        """Makes the variables; layers override it.

        Args:
            input_shape: The shape of the first argument of `call`.
        """

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer does; layers override it."""
        raise UnimplementedError(f"Layer {type(self).__name__} has no method `call`.")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if it is not, and calls it, in its variable scope."""
        self._check_made()
        outside = here.graph is None and makes_graph_variables()
        with self._graph_of(inputs).as_default() if outside else nullcontext():
            if not any(isinstance(leaf, Tensor) for leaf in flatten(inputs)):
                inputs = convert_to_tensor(inputs)
            self._set_scope(kwargs.pop("scope", None))
            assert self._scope is not None
            reuse = True if self.built else self._reuse
            with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False):
                if here.graph is None:
                    return self._call_inside(inputs, args, kwargs)
                with here.graph.name_scope(self._scope.original_name_scope):
                    return self._call_inside(inputs, args, kwargs)

    def _call_inside(self, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = flatten(inputs)
        if not self.built:
            if self._dtype is None:
                dtypes = [leaf.dtype for leaf in leaves if isinstance(leaf, Tensor)]
                self._dtype = dtypes[0] if dtypes and dtypes[0].is_floating else float32
            shapes = [TensorShape(leaf.shape) if hasattr(leaf, "shape") else None for leaf in leaves]
            self.build(pack_like(inputs, shapes) if isinstance(inputs, (list, tuple, dict)) else shapes[0])
            self.built = True
        call = self.call if here.graph is None else converted(self.call)
        outputs = call(inputs, *args, **kwargs)
        if self.activity_regularizer is not None:
            self.add_loss([self.activity_regularizer(output) for output in flatten(outputs)])
        return outputs

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """The same as a call."""
        return self(*args, **kwargs)

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            entered = variable_scope(scope or self._base_name)
        else:
            entered = variable_scope(scope, default_name=self._base_name)
        with entered as self._scope:
            pass

    def _graph_of(self, inputs: Any) -> Any:
        found = [leaf.graph for leaf in flatten(inputs) if isinstance(leaf, SymbolicTensor)]
        return found[0] if found else get_default_graph()

    def _floating(self, value: Any) -> Any:
        """Whole numbers as numbers of the layer's dtype; what has a gradient as it is."""
        return value if value.dtype.is_floating else cast(value, self._dtype or float32)

    def _checkpoint_children(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name != "_added"}
        held = {id(value) for value in found.values()}
        rest = [variable for variable in self._added if id(variable) not in held]
        return found | {str(each.name).rpartition("/")[2].partition(":")[0]: each for each in rest}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.__dict__.get('_name')}, built={self.__dict__.get('built')}>"


def in_words(class_name: str) -> str:
    """The name of a class in small letters: ``MaxPooling2D`` becomes ``max_pooling2d``."""
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", class_name)).lower()
