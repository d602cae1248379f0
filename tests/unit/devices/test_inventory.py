"""The devices of a process: configured, then fixed at first use. Each test has an inventory of its own."""

from __future__ import annotations

import pytest

from situs._src.base.devices.inventory import Inventory
from situs._src.base.devices.logical import LogicalDeviceConfiguration as Part
from situs._src.base.devices.physical import Card, PhysicalDevice
from situs._src.base.settings import VirtualGpus
from situs.errors import AlreadyInitializedError, NotFoundError

CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
GPU0 = PhysicalDevice("/physical_device:GPU:0", "GPU")
GPU1 = PhysicalDevice("/physical_device:GPU:1", "GPU")


@pytest.fixture
def inventory(monkeypatch):
    monkeypatch.delenv("SITUS_VIRTUAL_GPUS")
    cards = [Card(f"card {i}", f"0000:0{i}:00.0", (9, 0), 8 * 2**30, f"GPU-{i}") for i in range(2)]
    return Inventory(lambda: cards)


def names(inventory):
    return [device.short_name for device in inventory.devices()]


def test_the_default_is_one_logical_device_per_physical_one_gpus_first(inventory):
    assert inventory.physical() == [CPU, GPU0, GPU1]
    assert not inventory.initialized
    assert names(inventory) == ["GPU:0", "GPU:1", "CPU:0"]
    assert inventory.initialized


def test_listing_by_a_type_that_is_not_there_gives_nothing(inventory):
    assert inventory.physical("cpu") == []
    assert inventory.physical("TPU") == []


def test_logical_cpus_are_numbered_in_a_row(inventory):
    inventory.set_split(CPU, [Part()] * 4)
    assert names(inventory)[2:] == ["CPU:0", "CPU:1", "CPU:2", "CPU:3"]


def test_a_card_is_split_into_logical_gpus_with_limits(inventory):
    inventory.set_split(GPU0, [Part(memory_limit=1024), Part(memory_limit=512)])
    assert names(inventory) == ["GPU:0", "GPU:1", "GPU:2", "CPU:0"]
    first, second, third, _ = inventory.devices()
    assert [first.memory_limit, second.memory_limit] == [1024 * 2**20, 512 * 2**20]
    assert third.description.startswith("device: 1, name: card 1")


def test_the_same_value_after_the_start_is_fine_and_another_is_not(inventory):
    inventory.set_split(CPU, [Part(), Part()])
    inventory.set_visible([CPU, GPU1])
    inventory.devices()
    inventory.set_split(CPU, [Part(), Part()])
    inventory.set_visible([CPU, GPU1])
    with pytest.raises(AlreadyInitializedError, match="Virtual devices cannot be modified after being initialized"):
        inventory.set_split(CPU, [Part()])
    with pytest.raises(RuntimeError, match=r"Visible devices cannot be modified after being initialized.*top of the"):
        inventory.set_visible([CPU])
    with pytest.raises(RuntimeError, match="Virtual GPUs cannot be modified"):
        inventory.set_virtual_gpus(VirtualGpus(2))


def test_visible_devices_of_one_type_leave_the_others_alone(inventory):
    inventory.set_visible([GPU1], "GPU")
    assert inventory.visible() == [CPU, GPU1]
    assert names(inventory) == ["GPU:0", "CPU:0"]
    assert inventory.devices()[0].physical == GPU1


def test_a_card_that_is_named_twice_is_one_device(inventory):
    inventory.set_visible([GPU1, GPU1], "GPU")
    assert names(inventory) == ["GPU:0", "CPU:0"]


def test_hiding_the_cpu_is_refused_when_the_devices_are_made(inventory):
    inventory.set_visible([], "CPU")
    with pytest.raises(NotFoundError, match="No CPU devices are available in this process"):
        inventory.devices()


@pytest.mark.parametrize(
    ("device", "parts", "message"),
    [
        (CPU, [Part(memory_limit=10)], "Setting memory limit on CPU virtual devices is currently not supported"),
        (CPU, [Part(experimental_priority=1)], "Setting experimental_priority on CPU"),
        (GPU0, [Part()], "Setting memory limit is required for GPU virtual devices"),
        (GPU0, [Part(memory_limit=-1)], "positive number of megabytes"),
        (GPU0, [Part(memory_limit=float("nan"))], "positive number of megabytes"),
        (GPU0, [Part(memory_limit=5000)] * 2, "add up to more than the GPU's 8192 MB"),
        (GPU0, [7], "Expected a list of LogicalDeviceConfiguration"),
        (PhysicalDevice("/physical_device:GPU:9", "GPU"), [Part()], "Unrecognized device: PhysicalDevice"),
    ],
)
def test_settings_that_do_not_fit_the_device_are_refused(inventory, device, parts, message):
    with pytest.raises(ValueError, match=message):
        inventory.set_split(device, parts)


def test_a_device_of_the_wrong_type_is_unrecognized(inventory):
    with pytest.raises(ValueError, match="Unrecognized device"):
        inventory.set_visible([CPU], "GPU")


def test_virtual_gpus_take_the_place_of_cards(inventory, monkeypatch):
    inventory.set_virtual_gpus(VirtualGpus(3, 2**20))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    assert [card.pci_bus_id for card in inventory.cards] == ["virtual:02.0", "virtual:00.0"]
    gpu = inventory.devices()[0]
    assert gpu.is_virtual
    assert gpu.memory_limit == 2**20


def test_the_environment_asks_for_virtual_gpus(inventory, monkeypatch):
    monkeypatch.setenv("SITUS_VIRTUAL_GPUS", "4x2GiB")
    assert len(inventory.physical("GPU")) == 4
    assert inventory.devices()[3].memory_limit == 2 * 2**30


def test_start_hooks_see_the_devices_before_anyone_else(inventory):
    seen = []
    inventory.on_start(lambda devices: seen.append([device.short_name for device in devices]))
    inventory.devices()
    inventory.devices()
    assert seen == [["GPU:0", "GPU:1", "CPU:0"]]


def test_a_preview_does_not_fix_the_devices(inventory):
    assert len(inventory.preview()) == 3
    assert not inventory.initialized


def test_devices_can_be_settled_anew_and_those_that_stay_are_the_same(inventory):
    started = []
    inventory.on_start(lambda devices: started.append([device.short_name for device in devices]))
    before = inventory.devices()
    inventory.restart()
    (cpu,) = inventory.physical("CPU")
    inventory.set_split(cpu, [Part(), Part()])
    after = inventory.devices()
    assert [device for device in after if device.short_name != "CPU:1"] == list(before)
    assert started == [[device.short_name for device in before], ["CPU:1"]]
    inventory.restart()
    assert list(map(id, inventory.devices())) == list(map(id, before))
