"""Physical devices: the CPU and the GPUs of this machine, found without initializing them.

GPUs are queried through NVML, which needs no CUDA context and maps no GPU memory. A machine without a driver, without
NVML or with a PyTorch that has no CUDA simply has no GPUs.

    NVML's GPUs --CUDA_DEVICE_ORDER--> ordered --CUDA_VISIBLE_DEVICES--> this process's GPUs

A GPU is identified by its UUID: PyTorch may number the GPUs differently from NVML, and `runtime.eager.bridge` matches
the two by it.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from situs._src.base import html, settings
from situs._src.base.export import export


@export("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of the machine, as ``tf.config.list_physical_devices`` names it."""

    name: str
    device_type: str

    def _repr_html_(self) -> str:
        return html.table(("physical device", "type"), [(self.name, self.device_type)])


@dataclass(frozen=True)
class Card:
    """What is known of one GPU before it is used.

    ``uuid`` is the driver's identifier; a virtual GPU (see `base.devices.virtual`) has none.
    """

    name: str
    pci_bus_id: str
    compute_capability: tuple[int, int]
    memory_bytes: int
    uuid: str | None
    numa_node: int = 0
    speed: int = 0  # cores times clock, to order GPUs as CUDA's FASTEST_FIRST does

    @property
    def is_virtual(self) -> bool:
        """Whether the CPU stands in for this GPU."""
        return self.uuid is None

    def describe(self, index: int) -> str:
        """The line TensorFlow prints for a GPU: its number, name, bus id and capability."""
        major, minor = self.compute_capability
        return f"device: {index}, name: {self.name}, pci bus id: {self.pci_bus_id}, compute capability: {major}.{minor}"


@dataclass(frozen=True)
class Processor:
    """The CPU: all cores this process may run on, as one device."""

    name: str
    cores: int
    memory_bytes: int


def find_processor() -> Processor:
    """Asks the operating system about the CPU."""
    return Processor(_cpu_name(), _cores(), _ram())


def find_cards() -> list[Card]:
    """The NVIDIA GPUs that this process may use, in CUDA's order; empty without a usable driver."""
    if not torch_has_cuda():
        return []
    return select_visible(in_cuda_order(nvml_cards()), settings.cuda_visible_devices())


def in_cuda_order(cards: Sequence[Card]) -> list[Card]:
    """Orders GPUs as CUDA numbers them: by bus id, or by a guess of speed first.

    CUDA does not publish its FASTEST_FIRST rule; cores times clock, then the bus id, agrees
    with it wherever all GPUs of a machine are alike.
    """
    by_bus = sorted(cards, key=lambda card: card.pci_bus_id)
    if settings.cuda_device_order() == "PCI_BUS_ID":
        return by_bus
    return sorted(by_bus, key=lambda card: -card.speed)


def select_visible(cards: Sequence[Card], visible: str | None) -> list[Card]:
    """Applies ``CUDA_VISIBLE_DEVICES``: indices or UUIDs; a bad entry hides itself and the rest.

    >>> a, b = (Card(n, "", (9, 0), 1, f"GPU-{n}") for n in "ab")
    >>> [card.name for card in select_visible([a, b], "1,0")]
    ['b', 'a']
    >>> select_visible([a, b], "-1")
    []
    """
    if visible is None:
        return list(cards)
    chosen: list[Card] = []
    for entry in visible.split(","):
        card = _find_entry(cards, entry.strip())
        if card is None or card in chosen:
            break
        chosen.append(card)
    return chosen


def _find_entry(cards: Sequence[Card], entry: str) -> Card | None:
    if entry.isdecimal():
        return cards[int(entry)] if int(entry) < len(cards) else None
    if not entry.startswith("GPU-"):
        return None
    matching = [card for card in cards if card.uuid is not None and card.uuid.startswith(entry)]
    return matching[0] if len(matching) == 1 else None


def nvml_cards() -> list[Card]:
    """Every NVIDIA GPU of the machine, in NVML's order; empty where NVML does not answer."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [_read_card(pynvml, handle) for handle in handles]
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _read_card(nvml: Any, handle: Any) -> Card:
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    bus_id = _text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()
    return Card(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        pci_bus_id=bus_id[-12:],  # NVML pads the domain to eight digits, CUDA and nvidia-smi's log to four
        compute_capability=(major, minor),
        memory_bytes=nvml.nvmlDeviceGetMemoryInfo(handle).total,
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        numa_node=_numa_node(bus_id[-12:]),
        speed=_speed(nvml, handle),
    )


def _speed(nvml: Any, handle: Any) -> int:
    try:
        cores: int = nvml.nvmlDeviceGetNumGpuCores(handle)
        clock: int = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
    except (nvml.NVMLError, AttributeError):
        return 0
    return cores * clock


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def torch_has_cuda() -> bool:
    """Whether the installed PyTorch was built with CUDA."""
    return re.search(r"^cuda\b.*=\s*['\"]", _torch_version_file(), re.MULTILINE) is not None


def torch_version() -> str:
    """The version of the installed PyTorch; empty if there is none."""
    found = re.search(r"^__version__\b.*=\s*['\"](.*)['\"]", _torch_version_file(), re.MULTILINE)
    return found.group(1) if found else ""


def _torch_version_file() -> str:
    """What PyTorch's files say of its version, read without importing it."""
    spec = importlib.util.find_spec("torch")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        version_file = Path(folder) / "version.py"
        if version_file.is_file():
            return version_file.read_text()
    return ""


def _numa_node(bus_id: str) -> int:
    try:
        return max(0, int(Path(f"/sys/bus/pci/devices/{bus_id}/numa_node").read_text()))
    except (OSError, ValueError):
        return 0


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_facts() -> dict[str, str]:
    """What Linux says of the first core, in ``/proc/cpuinfo``; empty elsewhere."""
    try:
        with Path("/proc/cpuinfo").open(errors="replace") as lines:
            pairs = [line.partition(":") for line in takewhile(str.strip, lines)]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in pairs}


def _cpu_name() -> str:
    import platform

    return processor_facts().get("model name") or platform.processor() or platform.machine()


def _ram() -> int:
    """The bytes of memory that this process may use: the machine's, or its container's if that has fewer."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            return min([int(line.split()[1]) * 1024, *_container_limits()])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _container_limits() -> Iterable[int]:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        yield from (int(line) for line in _lines(path) if line.strip().isdecimal())


def _lines(path: str) -> Iterable[str]:
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return ()
