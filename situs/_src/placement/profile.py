"""What the placer needs to know of an operation: its kernels, its request, and which of its inputs are state.

Thousands of operations share a few profiles: one per op, dtypes and
request. So the registry is queried, and the request parsed, only once for all of them.
"""

from __future__ import annotations

from situs._src.base.devices.spec import EMPTY, DeviceSpec, parse_spec
from situs._src.base.dtype import resource
from situs._src.base.errors import InvalidArgumentError
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.signature import Arg
from situs._src.ir.registry.traits import SHAPE_ONLY, STATE_ANYWHERE
from situs._src.placement.failure import malformed_request, no_kernel_anywhere
from situs._src.placement.machine import Machine, Types


class Profile:
    """What all operations of one op, with the same dtypes and the same request, have in common."""

    __slots__ = ("is_metadata", "kernels", "request", "request_text", "state_args", "types")

    def __init__(self, node: Operation, machine: Machine) -> None:
        by_type = {kind: node.op_def.kernel_for(kind, node.types) for kind in sorted(machine.types)}
        found = {kind: kernel for kind, kernel in by_type.items() if kernel is not None}
        if not found:
            raise no_kernel_anywhere(node, machine)
        self.kernels = found
        self.types: Types = frozenset(self.kernels)
        self.request = _request(node)
        self.request_text = self.request.to_string()
        self.is_metadata = SHAPE_ONLY in node.op_def.traits
        inputs = () if STATE_ANYWHERE in node.op_def.traits else node.op_def.inputs
        # Positions of the inputs that must be on the operation's own device.
        self.state_args = tuple(i for i, arg in enumerate(inputs) if _is_state(arg, node))


class Profiles:
    """The profiles of a graph's operations."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._made: dict[object, Profile] = {}

    def of(self, node: Operation) -> Profile:
        """The profile of an operation.

        Raises:
            InvalidArgumentError: no device has a kernel for it, or its request is not a device name.
        """
        key = node.op_def, node.device, *node.types.values()
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Profile(node, self._machine)
        return found


def is_generator(node: Operation) -> bool:
    """Whether the operation only produces one value, which is best created where it is used."""
    return not node.inputs and len(node.outputs) == 1 and not node.outputs[0].is_ref


def makes_state(node: Operation) -> bool:
    """Whether the operation is a variable or another resource: its request binds its users."""
    return not node.inputs and len(node.outputs) == 1 and (node.outputs[0].is_ref or node.outputs[0].dtype is resource)


def state_inputs(node: Operation, profile: Profile) -> list[SymbolicTensor]:
    """The inputs that are state: a variable that the operation assigns to, a resource."""
    found: list[SymbolicTensor] = []
    for position in profile.state_args:
        arg = node.args[position]
        found += [t for t in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(t, SymbolicTensor)]
    return found


def _is_state(arg: Arg, node: Operation) -> bool:
    dtype = node.types.get(arg.type) if isinstance(arg.type, str) else arg.type
    return arg.is_ref or dtype is resource


def _request(node: Operation) -> DeviceSpec:
    try:
        return parse_spec(node.device) if node.device else EMPTY
    except InvalidArgumentError as error:
        raise malformed_request(node, error.message) from None
