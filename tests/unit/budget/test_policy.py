"""Memory policies: what a program asks for, what that means for each logical GPU, and how a card is made to keep it.

Each test has an inventory and a policy of its own; whole programs run in processes of their own.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from situs._src.base.budget import policy
from situs._src.base.devices.inventory import Inventory
from situs._src.base.devices.logical import LogicalDeviceConfiguration as Part
from situs._src.base.devices.physical import Card, PhysicalDevice
from situs._src.base.settings import VirtualGpus
from situs._src.runtime.eager import cuda_memory, torch_private
from situs.errors import AlreadyInitializedError, InvalidArgumentError

MIB = 2**20
GIB = 2**30
CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
GPU0 = PhysicalDevice("/physical_device:GPU:0", "GPU")
GPU1 = PhysicalDevice("/physical_device:GPU:1", "GPU")


@pytest.fixture
def cards(monkeypatch):
    """Two real cards of 8 GiB, and nothing said about their memory."""
    monkeypatch.delenv("SITUS_VIRTUAL_GPUS", raising=False)
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    found = [Card(f"card {i}", f"0000:0{i}:00.0", (9, 0), 8 * GIB, f"GPU-{i}") for i in range(2)]
    return _use(monkeypatch, Inventory(lambda: found))


@pytest.fixture
def virtual(cards):
    """Two virtual GPUs of 1 GiB."""
    cards.set_virtual_gpus(VirtualGpus(2, GIB))
    return cards


def _use(monkeypatch, inventory):
    for module in (policy, cuda_memory):
        monkeypatch.setattr(module, "process", inventory)
    monkeypatch.setattr(policy, "current", policy.MemoryPolicy())
    monkeypatch.setattr(policy, "_in_force", {})
    monkeypatch.setattr(cuda_memory, "_started", set())
    inventory.on_start(policy._settle)
    inventory.on_split(policy.refuse_split_of_fraction)
    return inventory


def gpus(inventory):
    return [device for device in inventory.devices() if device.type == "GPU"]


def facts(device):
    found = policy.of(device)
    return found.kind, found.growth, found.limit, str(found)


def split(inventory, *limits, card=GPU0):
    inventory.set_split(card, [Part(memory_limit=limit) for limit in limits])


# What each policy means for a logical GPU.


def test_nothing_said_maps_all_of_a_card(cards):
    assert facts(gpus(cards)[0]) == ("map all", False, None, "map all")
    assert gpus(cards)[0].memory_limit == 8 * GIB


def test_a_virtual_gpu_has_a_limit_in_any_case(virtual):
    assert facts(gpus(virtual)[0]) == ("map all", False, GIB, "map all")


def test_growth(cards):
    policy.set_growth_everywhere(True)
    assert facts(gpus(cards)[1]) == ("growth", True, None, "growth")


def test_a_fraction_is_of_the_whole_card(cards):
    policy.set_fraction(0.25)
    assert facts(gpus(cards)[0]) == ("fraction", False, 2 * GIB, "fraction 0.25 of 8192 MiB")
    assert gpus(cards)[0].memory_limit == 2 * GIB


def test_a_fraction_of_a_virtual_gpu_is_its_limit(virtual):
    policy.set_fraction(0.4)
    assert [gpu.memory_limit for gpu in gpus(virtual)] == [int(0.4 * GIB)] * 2


def test_a_fraction_combines_with_growth(virtual):
    policy.set_growth_everywhere(True)
    policy.set_fraction(0.5)
    assert facts(gpus(virtual)[0]) == ("fraction", True, GIB // 2, "fraction 0.5 of 1024 MiB, growing")


def test_limits_are_of_each_logical_gpu(cards):
    split(cards, 1024, 0.5)
    first, second, whole = gpus(cards)
    assert facts(first) == ("limit", False, GIB, "limit 1024 MiB")
    assert facts(second) == ("limit", False, MIB // 2, "limit 524288 bytes")
    assert facts(whole)[0] == "map all"


@pytest.mark.parametrize("split_first", [True, False])
def test_growth_combines_with_limits_in_either_order(cards, split_first):
    if split_first:
        split(cards, 1024, 512.5)
    for card in (GPU0, GPU1):
        policy.set_growth(card, True)
    if not split_first:
        split(cards, 1024, 512.5)
    assert [str(policy.of(gpu)) for gpu in gpus(cards)] == [
        "limit 1024 MiB, growing",
        "limit 512.5 MiB, growing",
        "growth",
    ]


def test_an_empty_split_leaves_the_card_whole(cards):
    cards.set_split(GPU0, [])
    policy.set_fraction(0.5)
    assert [policy.of(gpu).kind for gpu in gpus(cards)] == ["fraction", "fraction"]


def test_growth_everywhere_counts_for_gpus_that_are_chosen_later(cards):
    policy.set_growth_everywhere(True)
    cards.set_virtual_gpus(VirtualGpus(3, GIB))
    assert [policy.of(gpu).growth for gpu in gpus(cards)] == [True] * 3


def test_growth_everywhere_replaces_what_was_said_of_single_cards(cards):
    policy.set_growth(GPU0, True)
    policy.set_growth_everywhere(False)
    assert not policy.get_growth(GPU0)
    policy.set_growth_everywhere(True)
    policy.set_growth(GPU1, False)
    with pytest.raises(InvalidArgumentError, match="Memory growth cannot differ between GPU devices"):
        cards.devices()
    policy.set_growth(GPU1, True)
    assert len(gpus(cards)) == 2


def test_a_policy_can_be_asked_for_before_the_devices_are_made(cards):
    preview = next(device for device in cards.preview() if device.type == "GPU")
    policy.set_fraction(0.5)
    assert str(policy.of(preview)) == "fraction 0.5 of 8192 MiB"
    assert not cards.initialized


# The environment has the last word about growth.


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("true", False, True),
        ("1", False, True),
        ("TRUE", False, True),
        ("false", True, False),
        ("0", True, False),
        ("", True, True),
        (" ", False, False),
    ],
)
def test_the_environment_overrides_the_program(cards, monkeypatch, text, asked, expected):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", text)
    policy.set_growth(GPU0, asked)  # and not GPU1: what is overridden cannot disagree
    policy.set_growth(GPU1, asked if not text.strip() else False)
    assert [policy.of(gpu).growth for gpu in gpus(cards)] == [expected] * 2
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "later, it does not matter")
    assert policy.get_growth(GPU0) is expected


@pytest.mark.parametrize("text", ["yes", "2", "tru", "None"])
def test_a_bad_word_in_the_environment_is_an_error_when_gpus_are_made(cards, monkeypatch, text):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", text)
    with pytest.raises(InvalidArgumentError, match=rf"could not be parsed: '{text}'\. Write true or false"):
        cards.devices()
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    assert policy.of(gpus(cards)[0]).growth


def test_without_gpus_the_environment_is_not_read(cards, monkeypatch):
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "yes")
    cards.set_virtual_gpus(VirtualGpus(0))
    assert len(cards.devices()) == 1


# What is out of range, contradicts itself, or comes too late.


@pytest.mark.parametrize(
    "fraction",
    [0, 0.0, -0.1, 1.5, 1.0000001, float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), True, False, None]
    + ["0.4", b"0.4", [0.4], np.array([0.4]), np.float32("nan"), np.bool_(True), np.int64(2), 1j, Fraction(3, 2)]
    + [Fraction(1, 10**400)],
    ids=lambda value: repr(value)[:20],
)
def test_fractions_out_of_range_are_refused(cards, fraction):
    with pytest.raises(InvalidArgumentError, match=r"above 0 and at most 1, got .*For example 0\.4 reserves 40 %"):
        policy.set_fraction(fraction)
    assert policy.current.fraction is None


@pytest.mark.parametrize(
    "fraction", [1, 1.0, 0.4, np.float32(0.5), np.float64(0.4), np.int64(1), Fraction(1, 4), 1e-300]
)
def test_fractions_are_numbers_of_any_kind(cards, fraction):
    policy.set_fraction(fraction)
    assert type(policy.current.fraction) is float
    assert policy.of(gpus(cards)[0]).limit == max(1, int(float(fraction) * 8 * GIB))


@pytest.mark.parametrize(
    "limit",
    [
        0,
        -1,
        0.0,
        float("nan"),
        -float("inf"),
        True,
        False,
        "1024",
        b"1",
        [1],
        np.bool_(True),
        np.float32("nan"),
        1e-9,
        1j,
    ],
    ids=repr,
)
def test_limits_out_of_range_are_refused(cards, limit):
    with pytest.raises(InvalidArgumentError, match=r"positive number of megabytes, got .*Write for example 1024"):
        split(cards, limit)
    assert cards.split_of(GPU0) is None


@pytest.mark.parametrize("limits", [(8193,), (4096, 4097), (8192.001,), (1e300,), (float("inf"),), (10**5000,)])
def test_limits_larger_than_the_card_are_refused(cards, limits):
    with pytest.raises(InvalidArgumentError, match=r"add up to more than the GPU's 8192 MB\. Ask for less"):
        split(cards, *limits)


@pytest.mark.parametrize("limit", [8192, np.int16(1024), np.int32(4096), np.float32(0.5), Fraction(1, 2)])
def test_limits_are_numbers_of_any_kind(cards, limit):
    split(cards, limit)
    assert gpus(cards)[0].memory_limit == int(float(limit) * MIB)


CONTRADICTION = "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set. .*Either set"


def test_a_fraction_of_split_cards_is_refused(cards):
    split(cards, 1024)
    with pytest.raises(InvalidArgumentError, match=f"{CONTRADICTION}.* a fraction of whole GPUs"):
        policy.set_fraction(0.5)
    assert policy.of(gpus(cards)[0]).kind == "limit"


def test_splitting_cards_that_a_fraction_is_taken_of_is_refused(cards):
    policy.set_fraction(0.5)
    with pytest.raises(InvalidArgumentError, match=CONTRADICTION):
        split(cards, 1024, card=GPU1)
    cards.set_split(CPU, [Part(), Part()])
    assert policy.of(gpus(cards)[1]).kind == "fraction"


def test_settings_that_come_too_late_are_refused_and_the_same_again_are_not(cards):
    policy.set_fraction(0.5)
    policy.set_growth_everywhere(True)
    cards.devices()
    policy.set_fraction(0.5)
    policy.set_growth_everywhere(True)
    policy.set_growth(GPU0, True)
    late = (lambda: policy.set_fraction(0.4), lambda: policy.set_growth(GPU0, False))
    for call in (*late, lambda: policy.set_growth_everywhere(False)):
        with pytest.raises(AlreadyInitializedError, match=r"cannot be modified after being initialized.*top of the"):
            call()
    assert str(policy.of(gpus(cards)[0])) == "fraction 0.5 of 8192 MiB, growing"


@pytest.mark.parametrize("value", ["yes", None, 1.5, [True], np.zeros(2)], ids=repr)
def test_growth_is_on_or_off(cards, value):
    for call in (policy.set_growth_everywhere, lambda enable: policy.set_growth(GPU0, enable)):
        with pytest.raises(TypeError, match="Expected bool for argument"):
            call(value)


# What sessions ask for.


def never(device):
    return False


def always(device):
    return True


def ask(in_use=never, parts=(), **wishes):
    return policy.ask(policy.Request(parts={GPU0: tuple(map(Part, parts))} if parts else {}, **wishes), in_use)


def test_a_session_that_comes_first_sets_the_policy(cards):
    assert ask(growth=True, fraction=0.5)
    assert str(policy.of(gpus(cards)[1])) == "fraction 0.5 of 8192 MiB, growing"


def test_before_a_gpu_is_used_a_later_session_still_can(virtual):
    account = gpus(virtual)[0].account = SimpleNamespace(limit=GIB, growing=False, used=False)
    assert ask(fraction=0.5)
    assert ask(growth=True)
    assert (account.limit, account.growing, gpus(virtual)[0].memory_limit) == (GIB // 2, True, GIB // 2)
    assert str(policy.of(gpus(virtual)[0])) == "fraction 0.5 of 1024 MiB, growing"


def test_afterwards_it_cannot_but_what_is_in_force_may_be_asked_for(virtual):
    policy.set_fraction(0.5)
    virtual.devices()
    assert not ask(always, fraction=0.25)
    assert not ask(always, growth=True)
    assert not ask(always, parts=[100])
    assert ask(always)
    assert ask(always, fraction=0.5)
    assert str(policy.of(gpus(virtual)[0])) == "fraction 0.5 of 1024 MiB"


def test_one_gpu_in_use_settles_all(virtual):
    second = gpus(virtual)[1]
    assert not ask(lambda device: device is second, growth=True)


def test_limits_can_change_while_the_logical_gpus_stay_the_same(virtual):
    split(virtual, 100, 200)
    virtual.devices()
    assert ask(parts=[300, 400])
    assert [gpu.memory_limit // MIB for gpu in gpus(virtual)] == [300, 400, 1024]
    assert str(policy.of(gpus(virtual)[1])) == "limit 400 MiB"
    assert ask(always, parts=[300, 400])
    assert not ask(parts=[300])
    assert not ask(parts=[100, 100, 100])
    with pytest.raises(InvalidArgumentError, match="add up to more than the GPU's 1024 MB"):
        ask(parts=[1000, 1000])


def test_a_whole_gpu_can_get_a_limit_and_contradictions_are_refused_late_as_well(virtual):
    virtual.devices()
    assert ask(parts=[300])
    assert str(policy.of(gpus(virtual)[0])) == "limit 300 MiB"
    with pytest.raises(InvalidArgumentError, match=CONTRADICTION):
        ask(fraction=0.5)
    assert not ask(always, fraction=0.5)


def test_a_process_without_gpus_takes_any_wish(cards):
    cards.set_virtual_gpus(VirtualGpus(0))
    cards.devices()
    assert ask(always, growth=True, fraction=0.5)


def test_wishes_in_words():
    wishes = policy.Request(True, 0.5, {GPU0: (Part(100), Part(200))})
    assert str(wishes) == "growth and fraction 0.5 and memory limits of [100, 200] MB for /physical_device:GPU:0"


# On a card: what PyTorch is asked to do. Its functions are replaced; a real card is in tests/gpu.


@pytest.fixture
def asked(monkeypatch):
    """What PyTorch is asked for on a card of 8 GiB, of which 7 GiB are free."""
    calls = SimpleNamespace(fraction=None, taken=None, settings="", peaks=0, held=0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda ordinal: (7 * GIB, 8 * GIB))
    monkeypatch.setattr(
        torch.cuda, "set_per_process_memory_fraction", lambda share, ordinal: setattr(calls, "fraction", share)
    )
    monkeypatch.setattr(torch_private, "read_allocator_settings", lambda: calls.settings)
    monkeypatch.setattr(torch_private, "write_allocator_settings", lambda text: setattr(calls, "settings", text))
    monkeypatch.setattr(torch, "empty", lambda size, **where: setattr(calls, "taken", size))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda ordinal: setattr(calls, "peaks", 1))
    monkeypatch.setattr(cuda_memory, "measured", lambda ordinal: (0, 0, calls.held))
    return calls


def test_map_all_takes_nearly_all_that_is_free(cards, asked):
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert (asked.fraction, asked.taken) == (None, 7 * GIB - 7 * GIB // 20)
    assert asked.settings == "expandable_segments:True"
    assert asked.peaks == 1  # the block that was taken and freed is no peak of the program's


def test_growth_takes_nothing(cards, asked):
    policy.set_growth_everywhere(True)
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert (asked.fraction, asked.taken) == (None, None)


def test_a_fraction_is_bounded_and_taken_but_for_small_tensors(cards, asked):
    policy.set_fraction(0.5)
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert (asked.fraction, asked.taken) == (0.5, 4 * GIB - max(64 * MIB, 4 * GIB // 100))


def test_what_the_process_holds_already_is_part_of_its_share(cards, asked):
    policy.set_fraction(0.5)
    asked.held = GIB
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert asked.taken == 3 * GIB - max(64 * MIB, 4 * GIB // 100)


def test_a_growing_fraction_is_bounded_and_not_taken(cards, asked):
    policy.set_fraction(0.5)
    policy.set_growth_everywhere(True)
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert (asked.fraction, asked.taken) == (0.5, None)


def test_limits_are_bounded_and_taken_together(cards, asked):
    split(cards, 1024, 512)
    cuda_memory.reserve(gpus(cards)[1], 0)
    assert (asked.fraction, asked.taken) == (1.5 / 8, 1536 * MIB - 64 * MIB)


def test_small_limits_are_not_taken_ahead(cards, asked):
    split(cards, 32)
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert (asked.fraction, asked.taken) == (1 / 256, 0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("max_split_size_mb:128", "max_split_size_mb:128,expandable_segments:True"),
        ("expandable_segments:False", "expandable_segments:False"),
        ("backend:cudaMallocAsync", "backend:cudaMallocAsync"),
    ],
)
def test_what_pytorch_was_told_before_stays(cards, asked, found, expected):
    asked.settings = found
    cuda_memory.reserve(gpus(cards)[0], 0)
    assert asked.settings == expected


def test_a_pytorch_without_such_segments_will_do(cards, asked, monkeypatch):
    def refuse(text):
        raise ValueError(text)

    monkeypatch.setattr(torch_private, "write_allocator_settings", refuse)
    cuda_memory.reserve(gpus(cards)[0], 0)
    monkeypatch.setattr(torch_private, "write_allocator_settings", None)
    cuda_memory.reserve(gpus(cards)[1], 1)
    assert asked.taken > 6 * GIB


def test_a_card_whose_memory_is_gone_meanwhile_is_used_all_the_same(cards, asked, monkeypatch):
    def no_room(size, **where):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch, "empty", no_room)
    cuda_memory.reserve(gpus(cards)[0], 0)


def test_a_card_is_in_use_once_its_memory_is_reserved(cards, asked):
    split(cards, 100, 100)
    first, second, other = gpus(cards)
    assert not cuda_memory.in_use(first)
    cuda_memory.reserve(first, 0)
    assert (cuda_memory.in_use(first), cuda_memory.in_use(second), cuda_memory.in_use(other)) == (True, True, False)
    other.account = SimpleNamespace(used=True)
    assert cuda_memory.in_use(other)


def test_the_allocators_figures(monkeypatch):
    stats = {"allocated_bytes": {"all": {"current": 5, "peak": 9}}, "reserved_bytes": {"all": {"current": 20}}}
    monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict", lambda ordinal: stats if ordinal == 1 else {})
    assert cuda_memory.measured(1) == (5, 9, 20)
    assert cuda_memory.measured(0) == (0, 0, 0)


def test_a_session_that_contradicts_the_program_is_refused(run_python):
    program = (
        "import situs.compat.v1 as tf\n"
        "tf.config.gpu.set_per_process_memory_fraction(0.4)\n"
        "config = tf.ConfigProto()\n"
        "config.gpu_options.per_process_gpu_memory_fraction = 0.9\n"
        "try:\n    tf.Session(config=config)\nexcept ValueError as error:\n    print(error)\n"
        "config.gpu_options.per_process_gpu_memory_fraction = 0.4\n"
        "tf.Session(config=config)\n"
    )
    out = run_python(program, SITUS_VIRTUAL_GPUS="1")
    assert (
        out == "This session asks for fraction 0.9, and the program has set fraction 0.4. Ask for one of them only.\n"
    )
