"""Finding devices: without NVML, with cards described by NVML, in CUDA's order, made visible by the environment."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from situs._src.base.devices import physical
from situs._src.base.devices.physical import Card, in_cuda_order, nvml_cards, select_visible


def card(name: str, bus: str = "0000:01:00.0", speed: int = 1) -> Card:
    return Card(name, bus, (9, 0), 2**30, f"GPU-{name}", speed=speed)


A, B, C = card("a", "0000:03:00.0"), card("b", "0000:01:00.0"), card("c", "0000:02:00.0", speed=9)


def names(cards):
    return "".join(card.name for card in cards)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, "abc"),
        ("0", "a"),
        ("2,0", "ca"),
        (" 1 , 2 ", "bc"),
        ("-1", ""),
        ("", ""),
        ("0,-1,2", "a"),  # a bad entry hides itself and the rest
        ("0,7,1", "a"),
        ("0,0", "a"),
        ("GPU-b", "b"),
        ("GPU-", ""),  # not unique
        ("NoDevFiles", ""),
    ],
)
def test_cuda_visible_devices_selects_and_orders(visible, expected):
    assert names(select_visible([A, B, C], visible)) == expected


def test_cards_are_ordered_by_speed_or_by_bus(monkeypatch):
    assert names(in_cuda_order([A, B, C])) == "cba"
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert names(in_cuda_order([A, B, C])) == "bca"


def test_a_card_describes_itself_as_tensorflow_prints_it():
    text = "device: 3, name: a, pci bus id: 0000:03:00.0, compute capability: 9.0"
    assert A.describe(3) == text


class FakeNvml:
    """NVML as `nvidia-ml-py` offers it, with two cards."""

    NVML_CLOCK_SM = 1

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        self.open = 0

    def nvmlInit(self):
        self.open += 1

    def nvmlShutdown(self):
        self.open -= 1

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA H200" if handle else "NVIDIA H200"

    def nvmlDeviceGetPciInfo(self, handle):
        return SimpleNamespace(busId=f"00000000:0{handle + 1}:00.0".upper())

    def nvmlDeviceGetUUID(self, handle):
        return f"GPU-{handle}"

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=141 * 2**30)

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        return 9, 0

    def nvmlDeviceGetNumGpuCores(self, handle):
        raise self.NVMLError

    def nvmlDeviceGetMaxClockInfo(self, handle, clock):
        return 1980


def test_nvml_cards_are_read_and_nvml_is_closed_again(monkeypatch):
    nvml = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    first, second = nvml_cards()
    assert (first.name, first.pci_bus_id, first.uuid) == ("NVIDIA H200", "0000:01:00.0", "GPU-0")
    assert second.compute_capability == (9, 0)
    assert nvml.open == 0


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetCount"])
def test_a_machine_whose_nvml_does_not_answer_has_no_cards(monkeypatch, broken):
    nvml = FakeNvml()

    def fail():
        raise nvml.NVMLError

    monkeypatch.setattr(nvml, broken, fail)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert nvml_cards() == []


def test_a_machine_without_nvml_has_no_cards(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml_cards() == []


def test_cards_do_not_count_when_torch_cannot_use_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    monkeypatch.setattr(physical, "torch_has_cuda", lambda: False)
    assert physical.find_cards() == []
    monkeypatch.setattr(physical, "torch_has_cuda", lambda: True)
    assert len(physical.find_cards()) == 2


def test_the_processor_has_cores_and_memory():
    processor = physical.find_processor()
    assert processor.cores >= 1
    assert processor.memory_bytes > 2**28
