"""The collections of a graph's variables, and operations on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import constant
from situs._src.ops.gather import boolean_mask
from situs._src.ops.join import stack
from situs._src.ops.placeholder import group
from situs._src.variables import state_ops


@export(v1="GraphKeys")
class GraphKeys:
    """The names of the collections that TensorFlow's programs use."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


def _collected(name: str, scope: str | None) -> list[Any]:
    return get_default_graph().get_collection(name, scope)


@export(v1="global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph."""
    return _collected(GraphKeys.GLOBAL_VARIABLES, scope)


@export(v1="local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that are not saved."""
    return _collected(GraphKeys.LOCAL_VARIABLES, scope)


@export(v1="trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that optimizers should change."""
    return _collected(GraphKeys.TRAINABLE_VARIABLES, scope)


@export(v1="model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph that are part of a model."""
    return _collected(GraphKeys.MODEL_VARIABLES, scope)


@export(v1="moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph whose moving averages are kept."""
    return _collected(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@export(v1=("initialize_variables", "variables_initializer", "initializers.variables"))
def variables_initializer(var_list: Sequence[Any] | Mapping[str, Any], name: str = "init") -> Any:
    """An operation that runs the initializers of some variables."""
    variables = _variables(var_list)
    return group(*[variable.initializer for variable in variables if hasattr(variable, "initializer")], name=name)


def _variables(var_list: Any) -> list[Any]:
    """The variables of a list; None stands for all variables of the default graph."""
    if var_list is None:
        return global_variables() + local_variables()
    return [_variable(variable) for variable in listed(var_list, "variables")]


def _variable(value: ArrayLike) -> Any:
    if not hasattr(value, "assign") and not hasattr(value, "initializer"):
        raise DTypeError(f"Expected a tf.Variable, got {shown(value)} of type {type(value).__name__!r}.")
    return value


@export(v1=("global_variables_initializer", "initialize_all_variables", "initializers.global_variables"))
def global_variables_initializer() -> Any:
    """An operation that runs the initializers of all variables of the default graph."""
    return variables_initializer(global_variables())


@export(v1=("initialize_local_variables", "local_variables_initializer", "initializers.local_variables"))
def local_variables_initializer() -> Any:
    """An operation that runs the initializers of all local variables of the default graph."""
    return variables_initializer(local_variables())


@export(v1="all_variables")
def all_variables() -> list[Any]:
    """The old name of `global_variables`."""
    return global_variables()


@export(v1="is_variable_initialized")
def is_variable_initialized(variable: Any) -> bool | Tensor:
    """A tensor that says whether a variable, or what stands for its state in a graph, has a value."""
    if isinstance(variable, SymbolicTensor) and variable.is_ref:
        return state_ops.is_initialized(variable)
    _variable(variable)
    if not _may_be_uninitialized(variable):
        return True if here.graph is None else constant(True)
    return state_ops.is_initialized(variable._as_graph_element())


def _may_be_uninitialized(variable: Any) -> bool:
    return hasattr(variable, "_as_graph_element")  # an eager variable, which is not part of a graph, has a value


@export(v1="report_uninitialized_variables")
def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """A tensor with the names of the variables that have no value yet."""
    variables = [variable for variable in _variables(var_list) if _may_be_uninitialized(variable)]
    if not variables:
        return constant([], dtype="string", name=name)
    missing = [~is_variable_initialized(variable) for variable in variables]
    return boolean_mask(constant([variable.op.name for variable in variables]), stack(missing), name=name)


@export(v1="assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """An operation that fails unless every variable has a value."""
    variables = _variables(var_list)
    return group(*[variable.value() for variable in variables]) if variables else None
