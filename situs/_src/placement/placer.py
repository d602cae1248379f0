"""The simple placer: assigns a device to every operation of a graph.

    1. kernels and requests are read (`placement.profile`)
    2. operations are grouped: state with its updates, then explicit groups (`placement.colocation`)
    3. operations in graph order get the best device that their group allows
    4. generators, skipped in 3, are placed with their consumers

Preferences:

    a (CPU:1) --.
                 add        no request: the best device, not that of an input
    b (CPU:2) --'
    c --- mul (GPU:1)       a constant with one consumer is placed with it
    x (GPU:1) --- Shape     metadata is read where the data is, so that the data need not move
    v (CPU:0) ==> Assign    state is updated where it is, whatever the update requests

It has no cost model. Placements of earlier runs are kept. Every decision records its reason.

The dynamic placer (`placement.dynamic`) plugs in between 2 and 3: it gets the constraints of each operation, its
`Wish`, and returns its preferences. The rest is decided as above.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from situs._src.base.devices.logical import Device
from situs._src.base.devices.spec import EMPTY, DeviceSpec
from situs._src.base.errors import FailedPreconditionError, OpError
from situs._src.ir.graph.node import Operation
from situs._src.placement.candidates import LOCAL, default_detail, soft_detail
from situs._src.placement.colocation import Colocation, Group, Limits, relaxed
from situs._src.placement.failure import lost_device, resource_moved_text, unmet_request
from situs._src.placement.log import print_assignment
from situs._src.placement.machine import Machine
from situs._src.placement.placement import Placement as Placement
from situs._src.placement.placement import Reason
from situs._src.placement.profile import Profile, Profiles, is_generator, makes_state, state_inputs

_logger = logging.getLogger("situs")

FIXED: Reason = ("fixed", "placed by an earlier run")


class Wish(NamedTuple):
    """The choices of an operation after kernels, requests and groups have been considered.

    Attributes:
        node: The operation.
        devices: The devices that it may have, best first; never empty.
        group: The representative of its group, the same for all members; None if it is not colocated.
        rule: The reason for this list: ``default``, ``requested``, ``soft`` or ``fixed``.
    """

    node: Operation
    devices: Sequence[Device]
    group: Operation | None
    rule: str


Preferences = Mapping[Operation, tuple[Device, Reason]]
Choose = Callable[[Sequence[Wish]], Preferences]


def place(
    nodes: Sequence[Operation],
    devices: Sequence[Device],
    *,
    soft: bool = False,
    log: bool = False,
    default: Device | None = None,
    fixed: Mapping[Operation, Device] | None = None,
    choose: Choose | None = None,
) -> Placement:
    """Decides where every operation runs.

    Args:
        nodes: The operations in graph order: a whole graph, or the part that a run needs.
        devices: The devices of this process.
        soft: Whether another device may be used if a request cannot be met.
        log: Whether a line is printed for each operation.
        default: The device that operations without a request prefer; the caller's, for a ``tf.function``.
        fixed: Operations that must keep the device of an earlier run.
        choose: Chooses a device for an operation among those that it may have.

    Raises:
        UnknownDeviceError: a requested device does not exist.
        InvalidArgumentError: there is no kernel, or colocated operations cannot share a device.
        FailedPreconditionError: there are no devices.
    """
    if not devices:
        raise FailedPreconditionError("No devices are registered, so nothing can be placed.")
    placer = _Placer(nodes, Machine(devices, soft, default), log, fixed or {}, choose)
    return placer.run()


class _Choice(NamedTuple):
    """The devices that an operation or a group may have, best first, and the reason for this list.

    ``rule`` is ``default``, ``requested`` or ``soft``. ``asker`` is the member whose request decided.
    """

    devices: list[Device]
    rule: str
    reason: Reason
    asker: Operation | None = None


class _Placer:
    def __init__(
        self,
        nodes: Sequence[Operation],
        machine: Machine,
        log: bool,
        fixed: Mapping[Operation, Device],
        choose: Choose | None,
    ) -> None:
        self.nodes = nodes
        self.machine = machine
        self.log = log
        self.fixed = fixed
        self.choose = choose
        self.profiles: dict[Operation, Profile] = {}
        self.placed: dict[Operation, tuple[Device, Reason]] = {}
        self.colocation = Colocation(self._limits, machine.soft, log)
        self._choices: dict[Profile | Group, _Choice] = {}

    def run(self) -> Placement:
        self._read_profiles()
        self._tie()
        preferred = {} if self.choose is None else self.choose([self._wish(node) for node in self.nodes])
        generators = []
        for node in self.nodes:
            if node in self.fixed:
                self._assign(node, self.fixed[node], FIXED)
            elif node in preferred:
                self._settle(node, preferred[node])
            elif not node.inputs and is_generator(node):
                generators.append(node)
            else:
                self._settle(node, self._beside_input(node) if self.profiles[node].is_metadata else None)
        for node in generators:
            self._settle(node, self._with_consumers(node))
        return Placement(self.nodes, self.placed, self.profiles)

    # What each operation needs.

    def _read_profiles(self) -> None:
        profile_of = Profiles(self.machine).of
        self.profiles = {node: profile_of(node) for node in self.nodes}
        for node, device in self.fixed.items():
            if node in self.profiles and (
                device not in self.machine.devices or device.type not in self.profiles[node].kernels
            ):
                raise lost_device(node, device, self.machine)

    def _limits(self, node: Operation) -> Limits:
        profile = self.profiles[node]
        if node in self.fixed:
            spec = self.fixed[node].spec
            return Limits(profile.types, spec, EMPTY, spec)
        resource = profile.request if makes_state(node) else EMPTY
        return Limits(profile.types, profile.request, resource)

    # Grouping.

    def _tie(self) -> None:
        for node, profile in self.profiles.items():
            if not node.inputs and makes_state(node):
                self.colocation.enter(node)
            if profile.state_args:
                for tensor in state_inputs(node, profile):
                    if tensor.op in self.profiles:
                        self.colocation.follow(tensor.op, node)
        named = {name for node in self.nodes for name in node.colocated_with}
        for node in self.nodes if named else ():
            for name in node.colocated_with:
                self.colocation.join(node, name)
            if node.name in named:
                self.colocation.join(node, node.name)

    def _wish(self, node: Operation) -> Wish:
        """The choices of an operation."""
        group = self.colocation.find(node)
        leader = None if group is None else group.members[0]
        if node in self.fixed:
            return Wish(node, (self.fixed[node],), leader, FIXED[0])
        choice = self._choice(node, group)
        return Wish(node, tuple(choice.devices), leader, choice.rule)

    # Decisions.

    def _settle(self, node: Operation, preferred: tuple[Device, Reason] | None) -> None:
        """Gives a node the preferred device, if it may have it, or the best one."""
        group = self.colocation.find(node)
        choice = self._choice(node, group)
        device = choice.devices[0]
        reason = choice.reason if group is None else self._reason_in_group(node, choice)
        if preferred is not None and preferred[0] in choice.devices:
            device, reason = preferred[0], _combined(reason, preferred[1])
        if group is not None and len(choice.devices) > 1:  # fixes the others of the group
            self._choices[group] = choice._replace(devices=[device])
        self._assign(node, device, reason)

    def _assign(self, node: Operation, device: Device, reason: Reason) -> None:
        self.placed[node] = device, reason
        if self.log:
            print_assignment(node, device)

    def _beside_input(self, node: Operation) -> tuple[Device, Reason] | None:
        devices = {self.placed[t.op][0] if t.op in self.placed else None for t in node.inputs}
        device = devices.pop() if len(devices) == 1 else None
        return None if device is None else (device, ("metadata", f"next to its input '{node.inputs[0].op.name}'"))

    def _with_consumers(self, node: Operation) -> tuple[Device, Reason] | None:
        users = node.consumers + node.followers if node.followers else node.consumers
        device = None
        count = 0
        for user in users:
            if user not in self.profiles:
                continue  # not part of this run
            found = self.placed.get(user)
            if found is None or (device is not None and found[0] is not device):
                return None
            device, count, name = found[0], count + 1, user.name
        if device is None:
            return None
        whom = f"only consumer '{name}'" if count == 1 else f"{count} consumers"
        return device, ("generator", f"follows its {whom}")

    # Choices.

    def _choice(self, node: Operation, group: Group | None) -> _Choice:
        key = self.profiles[node] if group is None else group
        found = self._choices.get(key)
        if found is None:
            limits = Limits(key.types, key.request) if isinstance(key, Profile) else key
            found = self._choices[key] = self._choose(node, limits, group.members if group else [node])
        return found

    def _choose(self, node: Operation, limits: Limits, members: Sequence[Operation]) -> _Choice:
        wanted = limits.requested
        devices = self.machine.matching(wanted, limits.types)
        if devices and not wanted:
            return _Choice(devices, "default", self._default_reason(devices[0], members))
        if devices:
            return _Choice(devices, "requested", _requested(wanted), self._asker(members, devices[0]))
        devices = self._softly(limits, members) if self.machine.soft else []
        if not devices:
            raise self._unmet(node, limits, members)
        culprit = self._without_kernel(members, wanted.device_type) or node
        detail = soft_detail(culprit.op_def, culprit.types, wanted, self.machine.has(wanted))
        return _Choice(devices, "soft", ("soft", detail))

    def _softly(self, limits: Limits, members: Sequence[Operation]) -> list[Device]:
        found = self.machine.matching(relaxed(limits.requested, limits.assigned, limits.resource), limits.types)
        if not found:
            found = self.machine.matching(relaxed(limits.requested, limits.assigned), limits.types)
            if found:
                _logger.warning(resource_moved_text(found, members))
        return found

    def _unmet(self, node: Operation, limits: Limits, members: Sequence[Operation]) -> OpError:
        wanted = limits.requested
        missing = None if not self.machine.has(wanted) else self._without_kernel(members, wanted.device_type) or node
        helps = bool(self.machine.matching(relaxed(wanted, limits.assigned), limits.types)) and not self.machine.soft
        return unmet_request(node, self.profiles[node].request, wanted, self.machine, members, missing, helps)

    # Reasons.

    def _default_reason(self, device: Device, members: Sequence[Operation]) -> Reason:
        if device is self.machine.default:
            return "default", "the device of the caller"
        culprit = self._without_kernel(members, "GPU") or members[0]
        return "default", default_detail(culprit.op_def, culprit.types, device, self.machine.devices)

    def _without_kernel(self, members: Sequence[Operation], device_type: str | None) -> Operation | None:
        return next((node for node in members if device_type not in self.profiles[node].kernels), None)

    def _asker(self, members: Sequence[Operation], device: Device) -> Operation | None:
        """The member whose request was met: a leading one before a following one."""
        if len(members) == 1:
            return members[0]
        fixed = [node for node in members if node in self.fixed]
        asking = [node for node in members if self._is_granted(node, device)]
        leading = [node for node in asking if node not in self.colocation.ties]
        return next(iter(fixed or leading or asking), None)

    def _is_granted(self, node: Operation, device: Device) -> bool:
        request = self.profiles[node].request
        return bool(request) and node not in self.colocation.overruled and request.matches(device.spec)

    def _reason_in_group(self, node: Operation, choice: _Choice) -> Reason:
        tie = self.colocation.ties.get(node)
        if node is choice.asker or (tie is None and self._is_granted(node, choice.devices[0])):
            return _requested(self.profiles[node].request)
        if tie is not None:
            given_up = f", not {self.profiles[node].request.to_string()}" if node in self.colocation.overruled else ""
            return tie.kind, f"{'follows variable' if tie.kind == 'state' else 'with'} '{tie.other}'{given_up}"
        if choice.rule != "requested":
            return choice.reason
        if choice.asker is None:
            return "soft", "operations that belong together ask for different devices"
        return "colocated", f"with '{choice.asker.name}', which {self._claim(choice.asker)}"

    def _claim(self, asker: Operation) -> str:
        if asker in self.fixed:
            return "was placed by an earlier run"
        return f"asks for {_requested(self.profiles[asker].request)[1]}"


def _requested(spec: DeviceSpec) -> Reason:
    text = spec.to_string()
    return "requested", text.removeprefix(LOCAL) or text


def _combined(reason: Reason, preference: Reason) -> Reason:
    """The reason for a preferred device: the preference, unless the program's own request decided."""
    if reason[0] == "default":
        return preference
    if reason[0] == "soft":
        return "soft", f"{reason[1]}; {preference[1]}"
    return reason
