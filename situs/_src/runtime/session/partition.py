"""The partitions of a run by device, for ``RunMetadata.partition_graphs``.

Where a tensor crosses from one device to another, there is a ``_Send`` in one graph and a ``_Recv`` in the other,
one pair for each (tensor, destination):

    GPU:0   n = Neg(x)   n/_0 = _Send(n)          tensor_name: edge_3_n
    CPU:0   n/_1 = _Recv()   m = Exp(n/_1)        tensor_name: edge_3_n

A feed comes from an ``_Arg`` on the host, a fetch goes into a ``_Retval`` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.plan.plan import Plan

if TYPE_CHECKING:
    from situs._src.base.proto.stats import RunMetadata


def fill_partitions(
    metadata: RunMetadata, plan: Plan, feeds: Sequence[SymbolicTensor], fetches: Sequence[SymbolicTensor]
) -> None:
    """Writes one graph per device into `metadata`."""
    writer = _Partitions(metadata, plan)
    for number, tensor in enumerate(feeds):
        writer.add_argument(tensor, number)
    for node in plan.placed:
        if any(output not in writer.known for output in node.outputs) or not node.outputs:
            writer.add_node(node)
    for number, tensor in enumerate(fetches):
        writer.add_result(tensor, number)


class _Partitions:
    """The graphs under construction."""

    def __init__(self, metadata: RunMetadata, plan: Plan) -> None:
        self.metadata = metadata
        self.assignments = plan.placed
        self.graphs: dict[Device, Any] = {}
        self.known: dict[SymbolicTensor, tuple[Device, str]] = {}  # the device and name of a tensor at its producer
        self.received: dict[tuple[SymbolicTensor, Device], str] = {}
        self.crossings = 0

    def add_argument(self, tensor: SymbolicTensor, number: int) -> None:
        name = f"_arg_{tensor.op.name}_{tensor.value_index}_{number}"
        self._add(host(), name, "_Arg", T=tensor).attr["index"].i = number
        self.known[tensor] = host(), name

    def add_node(self, node: Operation) -> None:
        from situs._src.ir.graph.serialize import to_node_def  # here, because it loads protobuf

        device = self.assignments[node].device
        inputs = [self._on(tensor, device, node.name) for tensor in node.inputs]
        before = [f"^{n.name}" for n in node.control_inputs if self._device_of(n) is device]
        message = self._graph(device).node.add()
        message.CopyFrom(to_node_def(node))
        message.device = device.name
        del message.input[:]
        message.input.extend([*inputs, *before])
        for number, tensor in enumerate(node.outputs):
            self.known.setdefault(tensor, (device, f"{node.name}:{number}" if number else node.name))

    def add_result(self, tensor: SymbolicTensor, number: int) -> None:
        name = f"_retval_{tensor.op.name}_{tensor.value_index}_{number}"
        source = self._on(tensor, host(), name)
        message = self._add(host(), name, "_Retval", T=tensor)
        message.input.append(source)
        message.attr["index"].i = number

    def _device_of(self, node: Operation) -> Device | None:
        found = self.assignments.get(node)
        return None if found is None else found.device

    def _on(self, tensor: SymbolicTensor, device: Device, consumer: str) -> str:
        """The name of a tensor on a device, where it is received if it comes from another."""
        home, name = self.known[tensor]
        if home is device:
            return name
        if (tensor, device) not in self.received:
            self.received[tensor, device] = self._cross(tensor, name, home, device, consumer)
        return self.received[tensor, device]

    def _cross(self, tensor: SymbolicTensor, name: str, home: Device, device: Device, consumer: str) -> str:
        base = name.partition(":")[0]
        sent = self._add(home, f"{base}/_{2 * self.crossings}", "_Send", T=tensor)
        received = self._add(device, f"{base}/_{2 * self.crossings + 1}", "_Recv", tensor_type=tensor)
        self.crossings += 1
        sent.input.append(name)
        for message in (sent, received):
            texts = {
                "tensor_name": f"edge_{tensor.op.index}_{base}",
                "send_device": home.name,
                "recv_device": device.name,
                "_src": base,
                "_dst": consumer,
            }
            for key, text in texts.items():
                message.attr[key].s = text.encode()
            message.attr["client_terminated"].b = False
        return str(received.name)

    def _add(self, device: Device, name: str, op: str, **types: SymbolicTensor) -> Any:
        message = self._graph(device).node.add(name=name, op=op, device=device.name)
        for key, tensor in types.items():
            message.attr[key].type = tensor.dtype.as_datatype_enum
        return message

    def _graph(self, device: Device) -> Any:
        if device not in self.graphs:
            self.graphs[device] = self.metadata.partition_graphs.add()
        return self.graphs[device]
