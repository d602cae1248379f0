"""Which logical devices can run an op, best first, and which one it gets.

Eager code and graphs use the same rules:

    kernels for (op, dtypes)  x  devices of this process   ->  candidates: GPUs first, then by number
    candidates filtered by the request                     ->  the first one is the assignment

Soft placement drops the type and index from a request that nothing satisfies, never the job,
replica or task. Every assignment keeps its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from situs._src.base.devices.logical import Device
from situs._src.base.devices.spec import DeviceSpec
from situs._src.base.dtype import DType
from situs._src.base.errors import InvalidArgumentError, NotFoundError, UnknownDeviceError
from situs._src.ir.registry.kernel import Kernel
from situs._src.ir.registry.op import Op

# The common prefix of all device names of this process; reasons omit it.
LOCAL = "/job:localhost/replica:0/task:0"

Candidate = tuple[Device, Kernel]
Bound = Mapping[str, DType]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The device of an op, its kernel, and the reason.

    ``kind`` is the rule that decided: ``default``, ``requested``, ``soft`` or ``state``; in graphs also
    ``colocated``, ``generator``, ``metadata``, ``fixed`` and ``dynamic``, by predicted time. ``node`` is the name of
    the operation in its graph. ``runs_as`` says how it runs in a program that is, or should be, compiled: ``compiled
    region 2 (with 17 others)``, or ``kernel: looks at values``.
    """

    op: str
    device: Device
    kernel: Kernel
    kind: str
    detail: str
    requested: str = ""
    node: str = ""
    runs_as: str = ""

    @property
    def reason(self) -> str:
        """The rule and its detail in one phrase."""
        return f"{self.kind}: {self.detail}"

    def __str__(self) -> str:
        return f"{self.node or self.op} -> {self.device.short_name} ({self.reason})"


def candidates(op: Op, bound: Bound, devices: Sequence[Device]) -> list[Candidate]:
    """The devices that have a kernel for these dtypes, best first."""
    by_type: dict[str, Kernel | None] = {}
    found = []
    for device in devices:
        if device.type not in by_type:
            by_type[device.type] = op.kernel_for(device.type, bound)
        kernel = by_type[device.type]
        if kernel is not None:
            found.append((device, kernel))
    return sorted(found, key=lambda candidate: candidate[0].rank)


def assign(op: Op, bound: Bound, devices: Sequence[Device], request: DeviceSpec | None, soft: bool) -> Assignment:
    """Decides where an op runs.

    Args:
        op: The op.
        bound: The dtype of each type variable of its signature.
        devices: The devices of this process.
        request: The program's request; None for none.
        soft: Whether another device may be used if the request cannot be met.

    Raises:
        NotFoundError: no device of this process has a kernel.
        UnknownDeviceError: the requested device does not exist.
        InvalidArgumentError: it exists but has no kernel for this op and these dtypes.
    """
    able = candidates(op, bound, devices)
    if not able:
        raise NotFoundError(_no_kernel_text(op, bound, devices))
    if request is None:
        return Assignment(op.name, *able[0], "default", default_detail(op, bound, able[0][0], devices))
    name = request.to_string()
    for device, kernel in able:
        if request.matches(device.spec):
            return Assignment(op.name, device, kernel, "requested", name.removeprefix(LOCAL), name)
    relaxed = request.replace(device_type=None, device_index=None)
    exists = any(request.matches(device.spec) for device in devices)
    if soft:
        for device, kernel in able:
            if relaxed.matches(device.spec):
                return Assignment(op.name, device, kernel, "soft", soft_detail(op, bound, request, exists), name)
    if not exists:
        helps = not soft and any(relaxed.matches(device.spec) for device in devices)
        raise UnknownDeviceError(unknown_device_text(name, devices, soft, op.name, softness_helps=helps))
    raise InvalidArgumentError(_no_kernel_there_text(op, bound, request, able, devices, soft))


def unknown_device_text(
    name: str, devices: Sequence[Device], soft: bool, op: str = "", softness_helps: bool = False
) -> str:
    """The message for a device that this machine does not have: TensorFlow's text, then what exists."""
    types = ", ".join(dict.fromkeys(d.type for d in devices))
    hint = " Pick one of these"
    hint += ", or call tf.config.set_soft_device_placement(True)." if softness_helps else "."
    return (
        f"Error copying tensor to device: {name}. {name} unknown device.\n"
        f"Could not satisfy device specification '{name}'. enable_soft_placement={int(soft)}. "
        f"Supported device types [{types}]. All available devices [{names_of(devices)}].{hint}"
        f"{f' [Op:{op}]' if op else ''}"
    )


def types_text(bound: Bound) -> str:
    """The bound dtypes as a phrase: ``float32``, or ``SrcT=float32, DstT=int32``."""
    if len(bound) == 1:
        return next(iter(bound.values())).name
    return ", ".join(f"{variable}={dtype.name}" for variable, dtype in bound.items())


def default_detail(op: Op, bound: Bound, chosen: Device, devices: Sequence[Device]) -> str:
    """Why an op without a request got this device."""
    what = f"{types_text(bound)} kernel" if bound else "kernel"
    if chosen.type == "GPU":
        return f"first GPU with {'an' if what.startswith('i') else 'a'} {what}"
    if not any(device.type == "GPU" for device in devices):
        return "no GPU on this machine"
    return f"no {what} for {op.name} on GPU"


def soft_detail(op: Op, bound: Bound, request: DeviceSpec, exists: bool) -> str:
    """Why an op did not get the device it requested."""
    if not exists:
        number = "" if request.device_index is None else f":{request.device_index}"
        return f"no {request.device_type or 'device'}{number} on this machine"
    what = f"{types_text(bound)} kernel" if bound else "kernel"
    return f"no {what} for {op.name} on {request.device_type}"


def _no_kernel_text(op: Op, bound: Bound, devices: Sequence[Device]) -> str:
    attrs = ", ".join(f"{variable}=DT_{dtype.proto_name.upper()}" for variable, dtype in bound.items())
    return (
        f"Could not find device for node: {{{{node {op.name}}}}} = {op.name}[{attrs}]\n"
        f"All kernels registered for op {op.name}:\n{kernel_lines(op)}"
        f"This process has: {names_of(devices)}."
        f"{' Cast the inputs to a dtype that has a kernel.' if op.kernels else ''} [Op:{op.name}]"
    )


def _no_kernel_there_text(
    op: Op, bound: Bound, request: DeviceSpec, able: Sequence[Candidate], devices: Sequence[Device], soft: bool
) -> str:
    types = ", ".join(dict.fromkeys(device.type for device, _ in able))
    return (
        f"Could not satisfy device specification '{request.to_string()}'. enable_soft_placement={int(soft)}. "
        f"Supported device types [{types}]. All available devices [{names_of(devices)}].\n"
        f"{' of '.join(filter(None, (op.name, types_text(bound))))} has no supported kernel for "
        f"{request.device_type} devices. "
        f"Registered kernels:\n{kernel_lines(op)}"
        f"Ask for one of the supported types, or call tf.config.set_soft_device_placement(True). [Op:{op.name}]"
    )


def kernel_lines(op: Op) -> str:
    """The registered kernels of an op, one line each."""
    return "".join(f"  {kernel}\n" for kernel in op.kernels) or "  <no registered kernels>\n"


def names_of(devices: Sequence[Device]) -> str:
    """The full names of devices, with commas between."""
    return ", ".join(device.name for device in devices)
