"""``tf.train.Optimizer``: the base of the optimizers of TensorFlow 1.

    minimize(loss)
      compute_gradients      tf.gradients of the loss, or a tape around a function that computes it
      apply_gradients        slots, then one update for each variable, then the global step

In a graph these add operations, which run when the session runs the returned one; in eager code they take effect
immediately. A subclass overrides `_create_slots`, `_prepare`, `_apply_dense`, `_apply_sparse` and `_finish`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, here
from situs._src.base.errors import ArgumentError, DTypeError, StateError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.tree import flatten
from situs._src.checkpoints.objects import slot_child
from situs._src.checkpoints.restoration import arrived
from situs._src.ir.graph.context import control_dependencies, get_default_graph, init_scope, name_scope
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import constant, convert_to_tensor, fill, zeros, zeros_like
from situs._src.ops.placeholder import group
from situs._src.ops.placeholder import tuple as gate
from situs._src.ops.search import unique
from situs._src.ops.slices import IndexedSlices
from situs._src.v1.optimizers.arguments import as_pairs
from situs._src.v1.optimizers.slots import check_name, known_shape, make_slot
from situs._src.variables.apply_updates import state_of
from situs._src.variables.collections import GraphKeys, trainable_variables
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable, here_or

FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)


@export("train.Optimizer")
class Optimizer:
    """The base of the optimizers of TensorFlow 1.

    Args:
        use_locking: Accepted for TensorFlow's programs; every change is guarded.
        name: The name of the operations, and of slots.
        use_own_namescope_for_non_slot_vars: Accepted for TensorFlow's programs.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False) -> None:
        self._use_locking = use_locking
        self._name = check_name(name)
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """The name it was given."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Changes variables so that `loss` becomes less: computes gradients and applies them.

        Args:
            loss: A tensor; in eager code a function of nothing that computes it.
            global_step: A variable to add 1 to afterwards.
            var_list: The variables; by default those that are trainable, or that `loss` reads.
            gate_gradients: ``GATE_NONE``, ``GATE_OP`` or ``GATE_GRAPH``.
            aggregation_method: Accepted for TensorFlow's programs.
            colocate_gradients_with_ops: Whether gradients are bound to the devices of their operations.
            name: A name for the operation.
            grad_loss: The gradient of the loss; 1 by default.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        if all(grad is None for grad, _ in pairs):
            raise ArgumentError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(variable) for _, variable in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    # Gradients.

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of `loss`, each with its variable; None for a variable that it does not depend on.

        The arguments are those of `minimize`.
        """
        if callable(loss):
            return _by_tape(loss, var_list, grad_loss)
        value = read(loss)
        if not isinstance(value, SymbolicTensor):
            raise StateError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ArgumentError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not "
                f"{gate_gradients}"
            )
        self._assert_valid_dtypes([value] if grad_loss is None else [value, read(grad_loss)])
        with here_or(value.graph):
            return self._by_graph(value, var_list, gate_gradients, colocate_gradients_with_ops, grad_loss)

    def _by_graph(
        self, loss: SymbolicTensor, var_list: Any, gate_gradients: int, colocated: bool, grad_loss: Any
    ) -> list[tuple[Any, Any]]:
        variables = trainable_variables() if var_list is None else flatten(var_list)
        if not variables:
            raise ArgumentError("No variables to optimize.")
        grads = gradients(loss, variables, grad_loss, colocate_gradients_with_ops=colocated)
        if gate_gradients == self.GATE_GRAPH:  # GATE_OP asks for nothing: what is read is not changed under a reader
            grads = gate(grads)
        self._assert_valid_dtypes([v for grad, v in zip(grads, variables, strict=True) if grad is not None])
        return list(zip(grads, variables, strict=True))

    # Applying them.

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Changes variables by their gradients.

        Args:
            grads_and_vars: Pairs as `compute_gradients` returns them.
            global_step: A variable to add 1 to afterwards.
            name: A name for the operation; the optimizer's by default.
            skip_gradients_aggregation: Accepted for TensorFlow's programs.

        Returns:
            The operation; in eager code the global step, or None.
        """
        pairs = [(_as_gradient(grad), variable) for grad, variable in as_pairs(grads_and_vars)]
        if not pairs:
            raise ArgumentError("No variables provided.")
        if global_step is not None and not hasattr(global_step, "assign_add"):
            raise DTypeError(f"`global_step` is a variable, got {shown(global_step)}.")
        present = [(grad, variable) for grad, variable in pairs if grad is not None]
        if not present:
            raise ArgumentError(f"No gradients provided for any variable: {[str(variable) for _, variable in pairs]}.")
        with here_or(graph_of(present)):
            with init_scope():
                self._create_slots([variable for _, variable in present])
            with name_scope(name, self._name) as scope:
                return self._apply_all(present, global_step, scope)

    def _apply_all(self, pairs: Sequence[tuple[Any, Any]], global_step: Any, scope: str) -> Any:
        self._prepare()
        updates = self._updates(pairs)
        if global_step is None:
            last = self._finish(updates, scope)
        else:
            with control_dependencies([self._finish(updates, "update")]):
                last = global_step.assign_add(1, name=scope)
        if here.graph is None:
            return last
        operation = getattr(last, "op", last)
        collected = here.graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if isinstance(operation, Operation) and operation not in collected:
            collected.append(operation)
        return operation

    def _updates(self, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        return [self._updated(grad, variable) for grad, variable in pairs]

    def _updated(self, grad: Any, variable: Any) -> Any:
        """Changes one variable, by the method for its kind of gradient."""
        if here.graph is None:
            return self._constrained(self._update_by_resource(grad, variable), grad, variable)
        name = variable.op.name if isinstance(variable, RefVariable) else ""
        with name_scope(f"update_{name}"), here.graph.colocate_with(state_of(variable, here.graph).op):
            by_reference = isinstance(variable, RefVariable) and not self._has_only_resource_methods
            update = self._update_by_reference if by_reference else self._update_by_resource
            return self._constrained(update(grad, variable), grad, variable)

    def _update_by_reference(self, grad: Any, variable: Any) -> Any:
        if isinstance(grad, IndexedSlices):
            return self._apply_sparse_duplicate_indices(grad, variable)
        return self._apply_dense(grad, variable)

    def _update_by_resource(self, grad: Any, variable: Any) -> Any:
        if isinstance(grad, IndexedSlices):
            return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
        return self._resource_apply_dense(grad, variable)

    @property
    def _has_only_resource_methods(self) -> bool:
        own = type(self)
        return own._apply_dense is Optimizer._apply_dense and (
            own._resource_apply_dense is not Optimizer._resource_apply_dense
        )

    def _constrained(self, update: Any, grad: Any, variable: Any) -> Any:
        if variable.constraint is None:
            return update
        if isinstance(grad, IndexedSlices):
            raise StateError("Cannot use a constraint function on a sparse variable.")
        with control_dependencies([update]):
            return variable.assign(variable.constraint(_as_it_is_now(variable)))

    # What classes of one's own override.

    def _valid_dtypes(self) -> Any:
        """The dtypes that losses, variables and gradients may have."""
        return set(FLOATS)

    def _create_slots(self, var_list: list[Any]) -> None:
        """Makes the slots of variables; none by default."""

    def _prepare(self) -> None:
        """Makes the tensors that all updates share."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Changes a variable of a graph by a gradient, and returns the operation."""
        raise UnimplementedError(f"{type(self).__name__} has no method _apply_dense.")

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Changes an eager variable by a gradient."""
        if type(self)._apply_dense is not Optimizer._apply_dense:
            return self._apply_dense(grad, handle)
        raise UnimplementedError(f"{type(self).__name__} has no method _resource_apply_dense.")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Changes rows of a variable of a graph; rows may be named more than once."""
        values, indices = without_duplicates(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad._dense_shape), var)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        """Changes rows of a variable of a graph, each named once."""
        raise UnimplementedError(f"{type(self).__name__} has no method _apply_sparse.")

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Changes rows of an eager variable; rows may be named more than once."""
        values, rows = without_duplicates(grad, indices)
        return self._resource_apply_sparse(values, handle, rows)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Changes rows of an eager variable, each named once."""
        if type(self)._apply_sparse is not Optimizer._apply_sparse:
            return self._apply_sparse(IndexedSlices(grad, indices, shape_of(handle)), handle)
        raise UnimplementedError(f"{type(self).__name__} has no method _resource_apply_sparse.")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """What all updates together are."""
        return group(*[update for update in update_ops if update is not None], name=name_scope)

    # Slots.

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of that name beside a variable; None if there is none."""
        if not hasattr(var, "ref"):
            raise DTypeError(f"Slots stand beside variables, got {shown(var)}.")
        return self._slots.get(name, {}).get(var.ref())

    def get_slot_names(self) -> list[str]:
        """The names of slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """The variables of the optimizer's own, sorted by name; of those of graphs, the default graph's."""
        own = [*self._non_slot_dict.values(), *(slot for slots in self._slots.values() for slot in slots.values())]
        graph = get_default_graph()
        there = [variable for variable in own if getattr(variable, "graph", graph) is graph]
        return sorted(there, key=lambda variable: str(variable.name))

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, lambda: val, op_name)

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        if not callable(initializer):
            return self._get_or_make_slot(var, initializer, slot_name, op_name)
        takes_shape = shape is not None and shape.is_fully_defined()
        first = (lambda: initializer(shape, dtype=dtype)) if takes_shape else initializer
        return self._slot(var, slot_name, first, op_name)

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        shape = known_shape(var)
        first = (lambda: zeros_like(read(var))) if shape is None else (lambda: zeros(shape, var.dtype))
        return self._slot(var, slot_name, first, op_name)

    def _filled_slot(self, var: Any, slot_name: str, op_name: str, value: float) -> Any:
        """A slot that begins with the same number everywhere."""
        shape = known_shape(var)
        sizes = (lambda: shape_of(var)) if shape is None else (lambda: shape)
        return self._slot(var, slot_name, lambda: fill(sizes(), constant(value, var.dtype)), op_name)

    def _slot(self, var: Any, slot_name: str, initial: Any, op_name: str) -> Any:
        slots, key = self._slot_dict(slot_name), var.ref()
        if key not in slots:
            slots[key] = make_slot(var, initial, op_name)
            arrived(self, _child_of(var, slot_name), slots[key])
        return slots[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the optimizer as a whole, on the device of another one."""
        key = name, getattr(colocate_with, "graph", None)
        if key not in self._non_slot_dict:
            kind = Variable if isinstance(colocate_with, Variable) else RefVariable
            with _beside(colocate_with):
                self._non_slot_dict[key] = kind(initial_value, name=name, trainable=False)
            arrived(self, name, self._non_slot_dict[key])
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Any:
        return self._non_slot_dict.values()

    # Pieces.

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            found = getattr(tensor, "dtype", type(tensor))
            if found not in valid:
                names = [dtype.name for dtype in sorted(valid, key=str)]
                raise ArgumentError(f"Invalid type {found!r} for {shown(tensor)}, expected: {names}.")

    def _call_if_callable(self, param: Any) -> Any:
        """A parameter, or what it returns if it is a function."""
        return param() if callable(param) and not is_tensor(param) else param

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a ``tf.train.Checkpoint`` saves of it."""
        children = {name: variable for (name, _), variable in self._non_slot_dict.items()}
        for slot_name, slots in self._slots.items():
            for key, slot in slots.items():
                children[_child_of(key.deref(), slot_name)] = slot
        return children


def _child_of(var: Any, slot_name: str) -> str:
    """What a checkpoint calls the slot of a variable."""
    return slot_child(str(var.name).removesuffix(":0"), slot_name)


def without_duplicates(values: Any, indices: Any) -> tuple[Tensor, Tensor]:
    """Rows with those of the same number added up, and their numbers, each once."""
    rows, places = unique(indices)
    return find_op("UnsortedSegmentSum")(values, places, shape_of(rows)[0]), rows


def _by_tape(loss: Any, var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
    with GradientTape() as tape:
        if var_list is not None:
            tape.watch(var_list)
        value = loss()
    variables = list(tape.watched_variables()) if var_list is None else flatten(var_list)
    return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))


def _as_gradient(grad: Any) -> Any:
    if grad is None or isinstance(grad, (Tensor, IndexedSlices)):
        return grad
    try:
        return convert_to_tensor(grad)
    except (TypeError, ValueError):
        raise DTypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {shown(grad)}") from None


def graph_of(pairs: Sequence[tuple[Any, Any]]) -> Graph | None:
    """The graph that variables belong to; None for eager ones."""
    for _, variable in pairs:
        if isinstance(variable, RefVariable):
            return variable.graph
        if not isinstance(variable, Variable):
            raise UnimplementedError(f"Trying to update a Tensor {variable!r}: optimizers change variables.")
    return None


def _as_it_is_now(variable: Any) -> Any:
    return variable.read_value() if here.graph is not None else variable


@contextmanager
def _beside(variable: Any) -> Iterator[None]:
    """Where a variable is: makes its neighbours on the same device."""
    if isinstance(variable, Variable):
        with device(variable.device):
            yield
    else:
        with here_or(variable.graph), variable.graph.colocate_with(variable.op):
            yield
