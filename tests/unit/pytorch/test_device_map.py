"""``situs.torch.device_map``: parts that stay whole, parts that stay together, limits that are kept."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import situs.torch
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.pytorch import device_map as device_maps
from situs._src.pytorch.trace import trace
from situs._src.pytorch.units import find_units
from situs.errors import InvalidArgumentError


class Block(nn.Module):
    """A residual block: its forward adds what it was given to what its parts make."""

    def __init__(self, size):
        super().__init__()
        self.wide = nn.Linear(size, 4 * size)
        self.narrow = nn.Linear(4 * size, size)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


class Net(nn.Module):
    """Embeddings that are added up, blocks, and a head that shares its weight with an embedding."""

    def __init__(self, size=64, blocks=6, tied=True):
        super().__init__()
        self.words = nn.Embedding(100, size)
        self.places = nn.Embedding(32, size)
        self.scale = nn.Parameter(torch.ones(size))
        self.blocks = nn.ModuleList(Block(size) for _ in range(blocks))
        self.head = nn.Linear(size, 100, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x * self.scale)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Searches of a few moves: the models are small."""
    search = device_maps.search
    monkeypatch.setattr(device_maps, "search", lambda p, o, b, s, seeds: search(p, o, b, s, seeds=seeds, moves=500))


IDS = torch.zeros(2, 16, dtype=torch.long)
BLOCK = 4 * (2 * 64 * 256 + 256 + 64)  # bytes


def device_of(found, name):
    """The device of a part, as accelerate finds it: by the longest name that leads to it."""
    while name not in found:
        name = name.rpartition(".")[0]
    return found[name]


def test_ops_are_noted_with_the_part_that_runs_them():
    found = trace(Net(), IDS)
    parts = {op.part for op in found.ops}
    assert {"", "words", "blocks.0", "blocks.0.wide", "head"} <= parts
    product = next(op for op in found.ops if op.part == "blocks.0.wide" and op.steps > 10_000)
    assert product.steps == 2 * (2 * 16) * 64 * 256
    assert not found.ran_for_real


def test_a_trace_leaves_the_module_as_it_was():
    net = Net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    trace(net, IDS)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in net.modules())


def test_a_module_that_looks_at_elements_is_run_for_real():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            return self.inner(x) if x.sum().item() > 0 else x

    assert trace(Counting(), torch.ones(1, 4)).ran_for_real


def test_what_a_module_cannot_be_called_with_is_refused():
    with pytest.raises(InvalidArgumentError, match="cannot be called with these example inputs"):
        trace(Net(), (1, 2, 3))


def test_residual_blocks_are_units_and_what_is_joined_above_is_tied():
    net = Net()
    units = find_units(net, trace(net, IDS))
    assert [name for name in units.sizes if name.startswith("blocks")] == [f"blocks.{i}" for i in range(6)]
    assert units.sizes["blocks.0"] == BLOCK
    together = {units.group[name] for name in ("words", "places", "head")}
    assert len(together) == 1  # added up, and tied by a weight
    assert units.sizes["head"] == 0  # it is the embedding's


def test_classes_that_must_not_be_split_are_not():
    net = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 4))
    net._no_split_modules = ["Sequential"]
    assert list(find_units(net, trace(net, torch.zeros(1, 4))).sizes) == ["0", "1"]


def test_what_fits_on_one_card_goes_there_as_a_whole():
    found = situs.torch.device_map(Net(), IDS, max_memory={0: "1GiB", "cpu": "4GiB"})
    assert found == {"": 0}
    assert isinstance(found, dict)


def test_limits_are_kept_and_all_parameters_have_a_device():
    net = Net()
    limit = 4 * BLOCK
    found = situs.torch.device_map(net, IDS, max_memory={0: limit, 1: limit, "cpu": 10 * limit})
    held = dict.fromkeys((0, 1, "cpu"), 0)
    for name, value in net.named_parameters():
        held[device_of(found, name)] += value.nbytes
    assert held[0] <= limit
    assert held[1] <= limit
    assert held["cpu"] == 0
    assert device_of(found, "words") == device_of(found, "head") == device_of(found, "places")
    assert "one device alone" in found.report


def test_what_does_not_fit_on_the_card_is_offloaded_and_the_card_keeps_room_for_it():
    limit = 3 * BLOCK
    found = situs.torch.device_map(Net(), IDS, max_memory={0: limit, "cpu": "1GiB"})
    on_card = sum(value.nbytes for name, value in Net().named_parameters() if device_of(found, name) == 0)
    assert "cpu" in found.values()
    assert on_card + BLOCK <= limit


def test_a_card_with_room_comes_before_offloading_many_small_tensors():
    """Each tensor that is offloaded is brought by itself, which takes longer than a copy from card to card."""
    parts = [torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(6))) for _ in range(2)]
    each = sum(value.nbytes for value in parts[0].parameters())
    limit = each + each // 2
    found = situs.torch.device_map(
        torch.nn.Sequential(*parts), torch.zeros(1, 8), max_memory={0: limit, 1: limit, "cpu": "1GiB"}
    )
    assert set(found.values()) == {0, 1}


def test_more_than_there_is_room_for_is_refused():
    with pytest.raises(InfeasibleError):
        situs.torch.device_map(Net(), IDS, max_memory={0: BLOCK, 1: BLOCK})


def test_ours_is_never_worse_than_its_starting_points():
    limit = 4 * BLOCK
    plan = situs.torch.device_map(Net(), IDS, max_memory={0: limit, 1: limit, "cpu": 10 * limit}).plan
    assert "fill in definition order" in plan.tried
    assert all(plan.forecast.value <= value * (1 + 1e-12) for value in plan.tried.values() if value is not None)


def test_the_same_seed_gives_the_same_map():
    limits = {0: 3 * BLOCK, 1: 3 * BLOCK, "cpu": "1GiB"}
    one, other = (situs.torch.device_map(Net(), IDS, max_memory=limits, seed=3) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"devices": ["tpu"]}, "number of a GPU"),
        ({"devices": [0, "cuda:0"]}, "stands twice"),
        ({"devices": ["disk"]}, "on a disk alone"),
        ({"max_memory": {0: "much"}}, "size in bytes"),
        ({"max_memory": {0: -1}}, "max_memory is in bytes"),
    ],
)
def test_bad_devices_and_limits_are_refused_in_words(arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        situs.torch.device_map(Net(), IDS, **arguments)


def test_something_else_than_a_module_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"takes a torch\.nn\.Module"):
        situs.torch.device_map(lambda x: x, IDS)


def test_a_module_without_elements_can_be_planned():
    with torch.device("meta"):
        net = Net()
    assert situs.torch.device_map(net, IDS, max_memory={0: "1GiB"}) == {"": 0}


def test_accelerate_takes_the_map_and_is_one_of_the_starting_points():
    accelerate = pytest.importorskip("accelerate")
    net = Net(tied=False).eval()
    expected = net(IDS)
    found = situs.torch.device_map(net, IDS, max_memory={"cpu": "1GiB"})
    assert "accelerate" in found.plan.tried
    placed = accelerate.dispatch_model(net, device_map=dict(found), force_hooks=True)
    assert torch.allclose(placed(IDS), expected)


def test_a_transformer_is_planned_by_its_blocks():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=4, n_embd=64, n_head=4, vocab_size=200, bos_token_id=0, eos_token_id=0)
    with torch.device("meta"):
        model = transformers.GPT2LMHeadModel(config).eval()
    block = sum(value.nbytes for value in model.transformer.h[0].parameters())
    whole = sum(value.nbytes for value in model.parameters())
    limits = {0: whole - block, 1: whole - block, "cpu": "1GiB"}
    found = situs.torch.device_map(model, {"input_ids": IDS}, max_memory=limits)
    assert {device_of(found, f"transformer.h.{i}") for i in range(4)} == {0, 1}
    assert not any(name.startswith("transformer.h.") and name.count(".") > 2 for name in found)
    assert device_of(found, "transformer.wte") == device_of(found, "lm_head")
