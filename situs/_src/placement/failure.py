"""Errors for graphs that cannot be placed.

    Cannot assign a device to node 'b': Could not satisfy explicit device specification '/device:GPU:2'   asked
    because ... All available devices [...]. Registered kernels: ...                                      found
    Pass allow_soft_placement=True, or pick one of these.                                                 cure
    [[{{node b}} = Const[dtype=DT_FLOAT, _device="/device:GPU:2"]()]]                                     which
    Node 'b' was made here: program.py, line 3                                                            where

Each function makes an error; the placer raises it. Errors have the operation as ``op``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.devices.spec import DeviceSpec
from situs._src.base.dtype import DType
from situs._src.base.errors import InternalError, InvalidArgumentError, OpError, UnknownDeviceError
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import text_of
from situs._src.placement.candidates import kernel_lines, names_of
from situs._src.placement.machine import Machine

_SHOWN = 20  # members of a group; the rest is counted


# Before anything is placed.


def malformed_request(node: Operation, why: str) -> OpError:
    """The request of a node is not a device name; a device function returned it."""
    return _about(node, f"Malformed device specification '{node.device}' in node: {_text(node)}\n{why}")


def no_kernel_anywhere(node: Operation, machine: Machine) -> OpError:
    """No device of this process has a kernel for a node."""
    cure = "Cast the inputs to a dtype that has a kernel." if node.op_def.kernels else ""
    return _about(
        node,
        f"No OpKernel was registered to support Op '{node.type}' used by {{{{node {node.name}}}}} with these attrs: "
        f"[{_attrs_text(node)}]\nRegistered devices: [{', '.join(sorted(machine.types))}]\n"
        f"Registered kernels:\n{kernel_lines(node.op_def)}{cure}",
    )


def lost_device(node: Operation, device: Device, machine: Machine) -> OpError:
    """A node with a fixed device cannot stay there: a bug above the placer."""
    if device not in machine.devices:
        found = f"does not match any device; there are [{names_of(machine.devices)}]"
    else:
        found = f"does not have registered OpKernel support for {node.type}"
    return _about(node, f"Assigned device '{device.name}' {found}.", InternalError)


# Groups.


def reference_conflict(what: str, source: Operation, node: Operation, one: DeviceSpec, other: DeviceSpec) -> OpError:
    """A node takes two variables that are on different devices."""
    return _about(
        node,
        "Cannot place the graph because a reference or resource edge connects colocation groups with incompatible "
        f"{what} devices: {one.to_string()} vs {other.to_string()}. The edge src node is {_name_and_type(source)}, and "
        f"the dst node is {_name_and_type(node)}. Put the variables on one device, or read one of them first.",
    )


def cannot_follow(source: Operation, node: Operation, why: str) -> OpError:
    """A node takes a variable that cannot be on a device with it."""
    return _about(
        node,
        "Nodes were connected by a reference or resource connection (requiring them to be on the same device), but "
        f"the two nodes were assigned two different devices: {_cannot_colocate_text(source, node, why)}",
    )


def cannot_colocate(node: Operation, other: Operation, why: str) -> OpError:
    """Two nodes that the program colocates cannot share a device."""
    cure = "\nPass allow_soft_placement=True to let such requests give way, or pin only one of the two."
    return _about(node, _cannot_colocate_text(node, other, why) + cure)


def _cannot_colocate_text(node: Operation, other: Operation, why: str) -> str:
    return f"Cannot colocate nodes {{{{colocation_node {node.name}}}}} and {{{{colocation_node {other.name}}}}}{why}"


# A node without a device.


def unmet_request(
    node: Operation,
    request: DeviceSpec,
    wanted: DeviceSpec,
    machine: Machine,
    group: Sequence[Operation],
    without_kernel: Operation | None,
    softness_helps: bool,
) -> OpError:
    """No device satisfies the request of a node, or of its group.

    Args:
        node: The node.
        request: Its request.
        wanted: The spec of its group, the request included.
        machine: The devices.
        group: The operations that share a device with it.
        without_kernel: One of them that has no kernel on the wanted device, if the device exists.
        softness_helps: Whether soft placement would find a device.
    """
    if request == wanted:
        why = _missing_text(node, wanted, machine) if without_kernel is None else _kernel_text(wanted, without_kernel)
    else:
        why = (
            f" because the node {{{{colocation_node {node.name}}}}} was colocated with a group of nodes that required "
            f"incompatible device '{wanted.to_string()}'. All available devices [{_listed(machine)}]."
        )
    return _about(
        node,
        f"Cannot assign a device to node '{node.name}': Could not satisfy explicit device specification "
        f"'{request.to_string()}'{why}\n{_cure(softness_helps, machine)}{group_text(group) if len(group) > 1 else ''}",
        InvalidArgumentError if machine.has(wanted) else UnknownDeviceError,
    )


def _missing_text(node: Operation, wanted: DeviceSpec, machine: Machine) -> str:
    return (
        f"\n{{{{node {node.name}}}}} was explicitly assigned to {wanted.to_string()} but available devices are "
        f"[ {_listed(machine)} ]. Make sure the device specification refers to a valid device."
    )


def _kernel_text(wanted: DeviceSpec, member: Operation) -> str:
    kind = f"{wanted.device_type} devices" if wanted.device_type else "these devices"
    return (
        f" because no supported kernel for {kind} is available.\nOp: {member.type}\nNode attrs: {_attrs_text(member)}\n"
        f"Registered kernels:\n{kernel_lines(member.op_def)}"
    ).rstrip()


def _cure(softness_helps: bool, machine: Machine) -> str:
    if softness_helps:
        return (
            "Pass allow_soft_placement=True in the session's tf.ConfigProto (for a tf.function, call "
            "tf.config.set_soft_device_placement(True)) to have another device chosen; or ask for one that can run it."
        )
    if machine.soft:
        return "Soft placement is on, but it never gives up a job, a replica, a task or where a variable already is."
    return "Ask for one of the available devices."


def resource_moved_text(devices: Iterable[Device], group: Sequence[Operation]) -> str:
    """The warning that a variable is not on its requested device."""
    names = "\n  ".join(device.name for device in devices)
    return (
        "Failed to place the graph without changing the devices of some resources. Some of the operations (that had "
        "to be colocated with resource generating operations) are not supported on the resources' devices. Current "
        f"candidate devices are [\n  {names}].\nSee below for details of this colocation group:{group_text(group)}"
    )


def group_text(group: Sequence[Operation]) -> str:
    """The members of a group and their requests."""
    ordered = sorted(group, key=lambda node: node.index)
    lines = [f"  {node.name} ({node.type}) {node.device}".rstrip() for node in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        lines.append(f"  ... and {len(ordered) - _SHOWN} more")
    return "\nColocation members and user-requested devices, if any:\n" + "\n".join(lines)


# The parts of every message.


def _about(node: Operation, text: str, kind: type[OpError] = InvalidArgumentError) -> OpError:
    where = text_of(node.made_at).rstrip()
    made = f"\nNode '{node.name}' was made here (innermost last):\n{where}" if where else ""
    return kind(node.node_def, node, f"{text.rstrip()}\n\t [[{_text(node)}]]{made}")


def _text(node: Operation) -> str:
    attrs = [_attrs_text(node), f'_device="{node.device}"' if node.device else ""]
    inputs = ", ".join(tensor.op.name for tensor in node.inputs)
    return f"{{{{node {node.name}}}}} = {node.type}[{', '.join(filter(None, attrs))}]({inputs})"


def _attrs_text(node: Operation) -> str:
    return ", ".join(f"{name}={_value_text(value)}" for name, value in sorted({**node.attrs, **node.types}.items()))


def _value_text(value: object) -> str:
    if isinstance(value, DType):
        return f"DT_{value.proto_name.upper()}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str) and len(value) < 40:
        return f'"{value}"'
    return "..."  # a constant's value, a function: irrelevant here


def _name_and_type(node: Operation) -> str:
    return f"name='{node.name}' (op='{node.type}')"


def _listed(machine: Machine) -> str:
    return names_of(in_listing_order(machine.devices))
