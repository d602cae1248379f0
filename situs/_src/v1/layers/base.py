"""``tf.layers.Layer``: a layer of Keras whose variables come from ``get_variable``, in a variable scope of its own.

    tf.layers.dense(x, 10)                          dense/kernel, dense/bias; the next one has dense_1/...
    tf.layers.dense(x, 10, name="fc")               fc/kernel, fc/bias
    tf.layers.dense(y, 10, name="fc", reuse=True)   the same variables; operations in fc_1/

So a layer obeys the variable scopes around it: their names, reuse, initializers and regularizers.
"""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import as_dtype
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.keras import constraints, initializers, regularizers
from situs._src.keras.layers.base import Layer as KerasLayer
from situs._src.keras.losses.naming import in_words
from situs._src.keras.policy import DTypePolicy
from situs._src.ops.constant import convert_to_tensor
from situs._src.variables.collections import GraphKeys
from situs._src.variables.scope import VariableScope, get_variable, variable_scope
from situs._src.variables.symbolic import makes_graph_variables


@export(v1="layers.Layer")
class Layer(KerasLayer):
    """The base of the layers of TensorFlow 1.

    Args:
        args: Those of the layer.
        kwargs: Those of the layer, and ``trainable``, ``name``, ``dtype``, ``_scope`` and ``_reuse``.
    """

    _defaults: dict[str, Any] = {}  # where TensorFlow 1 has others than Keras

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        self._follows_input = kwargs.get("dtype") is None
        super().__init__(*args, **{**self._defaults_besides(args), **kwargs}, autocast=False)
        self._base_name = kwargs.get("name") or in_words(type(self).__name__)
        self._scope: VariableScope | None = None
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    def _defaults_besides(self, args: tuple[Any, ...]) -> dict[str, Any]:
        """The defaults of the arguments that were not given by position."""
        if not args:
            return dict(self._defaults)
        keras = next(kind for kind in type(self).__mro__ if not issubclass(kind, Layer))
        given = list(inspect.signature(keras.__init__).parameters)[1 : len(args) + 1]
        return {name: value for name, value in self._defaults.items() if name not in given}

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
    def dtype(self) -> Any:
        """The dtype of its variables; None before it is known."""
        return None if self._follows_input and not self.built else self.dtype_policy.variable

    # Its scope.

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            entered = variable_scope(scope or self._base_name)
        else:
            entered = variable_scope(scope, default_name=self._base_name)
        with entered as self._scope:
            pass

    def _inside(self, reuse: Any) -> Any:
        return variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False)

    def _name_scope(self) -> Any:
        assert self._scope is not None
        return here.graph.name_scope(self._scope.original_name_scope)

    # Calling.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if it is not, and calls it, in its variable scope."""
        outside = here.graph is None and makes_graph_variables()
        with _graph_of(args).as_default() if outside else nullcontext():
            if args and not any(isinstance(leaf, Tensor) for leaf in flatten(args[0])):
                args = (convert_to_tensor(args[0]), *args[1:])
            self._set_scope(kwargs.pop("scope", None))
            with self._inside(True if self.built else self._reuse):
                return super().__call__(*args, **kwargs)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """The same as a call."""
        return self(*args, **kwargs)

    def _call_inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._follows_input and not self.built:
            found = next((leaf.dtype for leaf in flatten(list(args[:1])) if isinstance(leaf, Tensor)), None)
            if found is not None and found.is_floating:
                self.dtype_policy = DTypePolicy(found)
        return super()._call_inside(args, kwargs)

    # Its variables.

    def _make_variable(self, name: str, given: dict[str, Any]) -> Any:
        self._set_scope(None)
        shape = given.get("shape")
        before = {id(variable) for variable in _made_so_far()}
        with self._inside(self.built or self._reuse):
            variable = get_variable(
                name,
                () if shape is None else shape,
                as_dtype(given.get("dtype") or self.dtype_policy.variable),
                initializers.get(given.get("initializer")),
                trainable=given.get("trainable", True) is not False and self.trainable,
                constraint=constraints.get(given.get("constraint")),
            )
        regularizer = regularizers.get(given.get("regularizer"))
        if regularizer is not None and here.graph is not None and id(variable) not in before:
            _regularize(variable, regularizer)
        return variable

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations to ``UPDATE_OPS``, for the program to run with its training step."""
        if here.graph is None:
            return
        for update in flatten(updates):
            found = getattr(update, "op", update)
            if found not in get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS):
                get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, found)


def _made_so_far() -> list[Any]:
    return get_default_graph().get_collection_ref(GraphKeys.GLOBAL_VARIABLES)


def _regularize(variable: Any, regularizer: Any) -> None:
    """Adds the loss of a layer's own regularizer; the variable scope's has been added by then."""
    graph = get_default_graph()
    with graph.colocate_with(variable.op), graph.name_scope(f"{variable.op.name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _graph_of(args: tuple[Any, ...]) -> Any:
    found = [leaf.graph for leaf in flatten(list(args[:1])) if isinstance(leaf, SymbolicTensor)]
    return found[0] if found else get_default_graph()
