"""The devices of this process: found, configured, then fixed at first use.

    discover  ->  configure (visible, split, virtual)  ->  first use: logical devices created, fixed
        ^                                                                   |
        +------------------------------ reset ------------------------------+

Everything that determines the set of devices must be set before the first op, constant or ``list_logical_devices``.
Setting the same value again later is fine; another value raises ``AlreadyInitializedError``, which says what to move to
the top of the program. After a reset, which `config.reset` allows if nothing is left on the devices, everything can be
set again.

One `Inventory` serves the process (`base.devices.inventory.process`); tests make their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from situs._src.base import locks, settings
from situs._src.base.devices.logical import CPU_MEMORY_LIMIT, Device, LogicalDeviceConfiguration
from situs._src.base.devices.physical import Card, PhysicalDevice, Processor, find_cards, find_processor
from situs._src.base.devices.virtual import virtual_cards
from situs._src.base.errors import AlreadyInitializedError, ArgumentError, NotFoundError, shown

MIB = 2**20
MOST_MEGABYTES = 2**40  # more than any GPU has, and a float holds its bytes exactly
Configurations = tuple[LogicalDeviceConfiguration, ...]


class Inventory:
    """Which physical devices there are, which of them are used, and how they are split."""

    def __init__(self, cards: Callable[[], list[Card]] = find_cards) -> None:
        self._find_cards = cards
        self._lock = locks.rlock()
        self._virtual: settings.VirtualGpus | None = None
        self._cards: list[Card] | None = None
        self._processor: Processor | None = None
        self._visible: list[PhysicalDevice] | None = None
        self._split: dict[PhysicalDevice, Configurations] = {}
        self._devices: tuple[Device, ...] | None = None
        self._before: tuple[Device, ...] = ()  # those that there were before a restart
        self._on_start: list[Callable[[tuple[Device, ...]], None]] = []
        self._on_split: list[Callable[[PhysicalDevice], None]] = []
        self._on_reset: list[Callable[[], None]] = []

    # Physical devices: answered without making the logical ones.

    def physical(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """The CPU and the GPUs (or the virtual ones in their place) of this process."""
        gpus = [PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(len(self.cards))]
        return _of_type([PhysicalDevice("/physical_device:CPU:0", "CPU"), *gpus], device_type)

    @property
    def cards(self) -> list[Card]:
        """What is known of each GPU, in the order of their numbers."""
        with self._lock:
            if self._cards is None:
                wanted = self._virtual or settings.virtual_gpus()
                self._cards = self._find_cards() if wanted is None else virtual_cards(wanted)
            return self._cards

    @property
    def processor(self) -> Processor:
        """What is known of the CPU."""
        if self._processor is None:
            self._processor = find_processor()
        return self._processor

    def card_of(self, device: PhysicalDevice) -> Card | None:
        """The GPU behind a physical GPU; None for the CPU.

        Raises:
            ValueError: there is no such device.
        """
        self._check_known(device)
        return None if device.device_type == "CPU" else self.cards[_number(device)]

    # Configuration.

    def visible(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """The physical devices that logical ones are, or will be, made of."""
        return _of_type(self.physical() if self._visible is None else self._visible, device_type)

    def set_visible(self, devices: Iterable[PhysicalDevice], device_type: str | None = None) -> None:
        """Chooses which physical devices (of one type, if given) this process uses."""
        check_type(device_type)
        chosen = list(devices)
        for device in chosen:
            self._check_known(device, device_type)
        chosen = list(dict.fromkeys(chosen))  # naming a GPU twice does not make two of it
        with self._lock:
            kept = [] if device_type is None else [d for d in self.visible() if d.device_type != device_type]
            self.change(
                self.visible() != kept + chosen,
                "Visible devices cannot be modified after being initialized",
                lambda: setattr(self, "_visible", kept + chosen),
            )

    def split_of(self, device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
        """How a physical device is split into logical ones; None if nothing was said."""
        self._check_known(device)
        found = self._split.get(device)
        return None if found is None else list(found)

    def set_split(self, device: PhysicalDevice, parts: Iterable[LogicalDeviceConfiguration]) -> None:
        """Makes one logical device per entry of `parts` out of a physical one."""
        self._check_known(device)
        try:
            wanted = tuple(parts)
        except TypeError:
            raise ArgumentError(f"Expected a list of LogicalDeviceConfiguration, got {parts!r}.") from None
        check_parts(device, wanted, self.card_of(device))
        for check in self._on_split if wanted and device.device_type == "GPU" else ():
            check(device)
        with self._lock:
            self.change(
                self._split.get(device) != wanted,
                "Virtual devices cannot be modified after being initialized",
                lambda: self._split.__setitem__(device, wanted),
            )

    def on_split(self, check: Callable[[PhysicalDevice], None]) -> None:
        """Calls `check` with every GPU that is to be split: how upper layers refuse what contradicts them."""
        self._on_split.append(check)

    def resize(self, device: PhysicalDevice, parts: Configurations) -> None:
        """Changes the limits of the logical GPUs of a physical GPU; their number stays, and none is in use yet."""
        check_parts(device, parts, self.card_of(device))
        with self._lock:
            own = sorted((d for d in self.devices() if d.physical == device), key=lambda d: d.index)
            for made, part in zip(own, parts, strict=True):
                made.memory_limit = limit_of(part)
            self._split[device] = parts

    def set_virtual_gpus(self, request: settings.VirtualGpus) -> None:
        """Uses virtual GPUs in place of GPUs."""

        def apply() -> None:
            self._virtual, self._cards, self._visible = request, None, None
            self._split = {d: parts for d, parts in self._split.items() if d.device_type == "CPU"}

        with self._lock:
            current = self._virtual or settings.virtual_gpus()
            self.change(current != request, "Virtual GPUs cannot be modified after being initialized", apply)

    def change(self, changed: bool, message: str, apply: Callable[[], object]) -> None:
        """Applies a setting that shapes the devices, if it changes anything.

        Raises:
            AlreadyInitializedError: it does, and the devices have been made.
        """
        with self._lock:
            if changed and self._devices is not None:
                raise AlreadyInitializedError(
                    f"{message}. Move this call to the top of the program, before the first op, constant or "
                    "tf.config.list_logical_devices(); or call tf.config.reset() before it, which releases the devices "
                    "once nothing uses them."
                )
            if changed:
                apply()

    def _check_known(self, device: PhysicalDevice, device_type: str | None = None) -> None:
        known = self.physical(device_type)
        if not isinstance(device, PhysicalDevice) or device not in known:
            names = ", ".join(d.name for d in known) or "none"
            raise ArgumentError(f"Unrecognized device: {device!r}. The physical devices are: {names}.")

    # Logical devices: made on first use.

    @property
    def initialized(self) -> bool:
        """Whether the logical devices have been made."""
        return self._devices is not None

    def on_start(self, hook: Callable[[tuple[Device, ...]], None]) -> None:
        """Calls `hook` with the devices once they are made, at once if they are: how upper layers prepare."""
        with self._lock:
            self._on_start.append(hook)
            if self._devices is not None:
                hook(self._devices)

    def devices(self) -> tuple[Device, ...]:
        """Every logical device, best first; makes them on the first call."""
        if self._devices is None:
            with self._lock:
                if self._devices is None:
                    known = {(d.type, d.index, d.physical, d.memory_limit): d for d in self._before}
                    fresh = self._make_devices()
                    made = tuple([known.get((d.type, d.index, d.physical, d.memory_limit), d) for d in fresh])
                    new = tuple([d for d in made if d not in self._before])
                    for hook in self._on_start:
                        hook(new)
                    self._devices = made
        return self._devices

    def restart(self) -> None:
        """Lets the devices be settled again, for tests; devices that remain stay the same objects."""
        with self._lock:
            self._before = (*self._before, *(d for d in self._devices or () if d not in self._before))
            self._devices, self._visible, self._split = None, None, {}

    def on_reset(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the devices are given up: how upper layers forget what they have settled for them."""
        self._on_reset.append(hook)

    def reset(self) -> None:
        """Gives the devices up, with all that was said about them: as if the process had just begun.

        ``CPU:0`` there always is, so it stays the same, and so do tensors on it. Whoever calls this has made sure that
        nothing is left on the others.
        """
        with self._lock:
            known = (*self._before, *(self._devices or ()))
            self._before = tuple(dict.fromkeys(d for d in known if d.type == "CPU" and d.index == 0))
            self._devices, self._virtual, self._cards, self._visible, self._split = None, None, None, None, {}
            for hook in self._on_reset:
                hook()

    def preview(self) -> tuple[Device, ...]:
        """The logical devices as they are, or as they would be made now."""
        with self._lock:
            return self._make_devices() if self._devices is None else self._devices

    def _make_devices(self) -> tuple[Device, ...]:
        numbers = {"CPU": count(), "GPU": count()}
        devices = []
        for physical in self.visible():
            for part in self._parts(physical):
                devices.append(self._make_device(physical, part, next(numbers[physical.device_type])))
        if not any(device.type == "CPU" for device in devices):
            raise NotFoundError(
                "No CPU devices are available in this process. Python values are read on the CPU: leave it visible."
            )
        return tuple(sorted(devices, key=lambda device: device.rank))

    def _parts(self, physical: PhysicalDevice) -> Configurations:
        """What is made of a physical device; an empty list leaves a GPU whole, as in TensorFlow."""
        whole = (LogicalDeviceConfiguration(),)
        found = self._split.get(physical, whole)
        return whole if not found and physical.device_type == "GPU" else found

    def _make_device(self, physical: PhysicalDevice, part: LogicalDeviceConfiguration, index: int) -> Device:
        if physical.device_type == "CPU":
            return Device("CPU", index, physical, CPU_MEMORY_LIMIT)
        card = self.card_of(physical)
        assert card is not None
        limit = card.memory_bytes if part.memory_limit is None else limit_of(part)
        return Device("GPU", index, physical, limit, card, _number(physical))


def check_type(device_type: str | None) -> None:
    """Raises ``ValueError`` unless this is a word that may be a type of device, or None for all."""
    if device_type is not None and not isinstance(device_type, str):
        raise ArgumentError(f"A device type is a word such as 'CPU' or 'GPU', got {device_type!r}.")


def _of_type(devices: Sequence[PhysicalDevice], device_type: str | None) -> list[PhysicalDevice]:
    check_type(device_type)
    return [d for d in devices if device_type is None or d.device_type == device_type]


def _number(device: PhysicalDevice) -> int:
    return int(device.name.rpartition(":")[2])


def limit_of(part: LogicalDeviceConfiguration) -> int:
    """The memory limit of a part of a GPU, in bytes."""
    return int(min(settings.number(part.memory_limit), MOST_MEGABYTES) * MIB)


def check_parts(device: PhysicalDevice, parts: Configurations, card: Card | None) -> None:
    """Raises ``ValueError`` unless a physical device can be split into these parts."""
    for part in parts:
        if not isinstance(part, LogicalDeviceConfiguration):
            raise ArgumentError(
                f"Expected a list of LogicalDeviceConfiguration for {device.name}, got {shown(part)} in it."
            )
        if card is None:
            if part.memory_limit is not None:
                raise ArgumentError("Setting memory limit on CPU virtual devices is currently not supported")
            if part.experimental_priority is not None:
                raise ArgumentError("Setting experimental_priority on CPU virtual devices is currently not supported")
        else:
            _check_gpu_part(part)
    if card is not None and sum(map(limit_of, parts)) > card.memory_bytes:
        raise ArgumentError(
            f"The memory limits {shown([part.memory_limit for part in parts])} (MB) for {device.name} add up to more "
            f"than the GPU's {card.memory_bytes / MIB:.0f} MB. Ask for less."
        )


def _check_gpu_part(part: LogicalDeviceConfiguration) -> None:
    if part.memory_limit is None:
        raise ArgumentError(
            "Setting memory limit is required for GPU virtual devices. Write for example "
            "tf.config.LogicalDeviceConfiguration(memory_limit=1024) for 1024 MB."
        )
    if not settings.number(part.memory_limit) > 0 or limit_of(part) < 1:
        raise ArgumentError(
            f"A memory limit is a positive number of megabytes, got {shown(part.memory_limit)}. "
            "Write for example 1024, or do not split the GPU, to use all of it."
        )


process = Inventory()
