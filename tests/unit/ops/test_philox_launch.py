"""How draws are launched on a card, with a stand-in for Triton that computes on the host what a kernel would."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from situs._src.base.streams import COUNTERS, Position
from situs._src.ops.philox import draw, launch
from situs._src.ops.philox.words import Placed, scrambled, words_at

CPU = torch.device("cpu")
HERE = CPU.index if CPU.index is not None else -1  # what a tensor on the host says is the number of its card
PLACES = [scrambled(1, 2), Position(2**64 - 1, COUNTERS - 3), Position(7, 2**64 - 2), Position(2**63, 2**127)]
NAME = "situs._src.ops.philox.kernels"
STREAM = 4711


def memory(address, dtype, count):
    """What lies at an address, as NumPy sees it."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def begin_of(source, key, low, high, place):
    if source == 1:
        return scrambled(*memory(place, np.int64, 2).tolist())
    if source == 2:
        key, low, high = memory(place, np.int64, 3).tolist()
    return Position(key % 2**64, low % 2**64 + (high % 2**64 << 64))


def fill(programs, out, place, table, count, key, low, high, kind, source, lanes):
    assert programs == -(-count // (4 * lanes))
    what = (draw.uniform, draw.normal, draw.truncated_normal)[kind]
    found = what((count,), torch.float32, begin_of(source, key, low, high, place), CPU)
    memory(out, np.float32, count)[:] = found.numpy()
    assert memory(table, np.float64, 32)[0] > 1


def fill_words(programs, out, offsets, place, count, key, low, high, source, lanes):
    assert programs == -(-count // lanes)
    given = torch.from_numpy(memory(offsets, np.int64, count).copy())
    found = words_at(begin_of(source, key, low, high, place), given)
    memory(out, np.int64, 4 * count)[:] = found.numpy().reshape(-1)


class Compiled:
    """A compiled kernel; of a Triton whose `run` takes other arguments, or that has none, if so asked."""

    function, packed_metadata = 99, ("packed",)

    def __init__(self, body, calls, run):
        self.body, self.calls = body, calls
        if run == "other":
            self.run = lambda programs: None
        elif run:
            self.run = self._run

    def _run(self, programs, y, z, stream, function, metadata, told, enter, leave, *arguments):
        assert (y, z, stream, function, metadata) == (1, 1, STREAM, 99, ("packed",))
        assert told is enter is leave is None
        self.calls.append("run")
        self.body(programs, *arguments)

    def __getitem__(self, grid):
        def runner(*arguments, stream=None):
            assert grid[1:] == (1, 1)
            assert stream == STREAM
            self.calls.append("grid")
            self.body(grid[0], *arguments)

        return runner


@pytest.fixture(params=[True, "other", None], ids=["run", "another run", "no run"])
def kernels(request, monkeypatch):
    """The module of kernels, over a stand-in for Triton; ``calls`` says how it was called."""
    calls = []

    class Jitted:
        def __init__(self, function):
            self.body = {"_fill": fill, "_fill_words": fill_words}.get(function.__name__)

        def __getitem__(self, grid):
            def front(*arguments, **options):
                assert options == {"enable_fp_fusion": False}
                plain = [each if isinstance(each, int) else each.data_ptr() for each in arguments]
                calls.append("front")
                self.body(grid[0], *plain)
                return Compiled(self.body, calls, request.param)

            return front

    triton, language = ModuleType("triton"), ModuleType("triton.language")
    triton.jit = lambda function=None, **options: Jitted if function is None else Jitted(function)
    triton.language, language.constexpr = language, lambda value: value
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", language)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    monkeypatch.setattr(launch, "current_card", lambda: HERE)
    monkeypatch.setattr(launch, "current_stream", lambda card: STREAM)
    found = importlib.import_module(NAME)
    yield found, calls, "run" if request.param is True else "grid"
    sys.modules.pop(NAME, None)


@pytest.mark.parametrize("what", ["uniform", "normal", "truncated"])
def test_draws_by_launches_are_those_of_the_host(kernels, what):
    module, _, _ = kernels
    on_host = {"uniform": draw.uniform, "normal": draw.normal, "truncated": draw.truncated_normal}[what]
    for begin in PLACES:
        for sizes in ((1,), (3, 5), (1025,), (2, 0), ()):
            found = module.fill(what, begin, sizes, CPU)
            assert torch.equal(found, on_host(sizes, torch.float32, begin, CPU)), (begin, sizes)


def test_positions_in_memory_are_handed_on_as_addresses(kernels):
    module, _, _ = kernels
    for numbers, is_seed in (([5, -(2**63)], True), ([-1, 2**63 - 1, -7], False)):
        placed = Placed(torch.tensor([0, *numbers])[1:], is_seed)
        for _ in range(2):
            found = module.fill("normal", placed, (77,), CPU)
            assert torch.equal(found, draw.normal((77,), torch.float32, placed, CPU))
            offsets = torch.tensor([[0, 1, 5], [2**33, 2**62, 9]])
            assert torch.equal(module.words_at(placed, offsets), words_at(placed, offsets))


def test_blocks_are_looked_up_anywhere(kernels):
    module, _, _ = kernels
    offsets = torch.arange(600).reshape(2, 300).T  # not contiguous
    for begin in PLACES:
        assert torch.equal(module.words_at(begin, offsets), words_at(begin, offsets))


def test_tritons_front_is_asked_once_for_each_kernel(kernels):
    module, calls, way = kernels
    for count in (1, 10, 5000, 0):
        for begin in PLACES:
            module.fill("normal", begin, (count,), CPU)
    tried = [way] if way == "run" else []  # by the first launch itself
    assert calls == ["front", *tried, *[way] * (3 * len(PLACES) - 1)]
    calls.clear()
    module.fill("uniform", PLACES[0], (5,), CPU)
    module.fill("normal", PLACES[0], (5,), CPU)
    assert calls == ["front", *tried, way]


def test_a_kernel_on_another_card_is_launched_there(kernels, monkeypatch):
    module, _, _ = kernels
    now, entered = 3, []

    @contextlib.contextmanager
    def device(number):
        nonlocal now
        before, now = now, number
        entered.append(number)
        yield
        now = before

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(launch, "current_card", lambda: now)
    for _ in range(2):
        found = module.fill("uniform", PLACES[0], (9,), CPU)
        assert torch.equal(found, draw.uniform((9,), torch.float32, PLACES[0], CPU))
    assert entered == [HERE, HERE]
    assert now == 3


def test_an_error_of_the_card_is_not_taken_for_another_triton(kernels):
    class Broken:
        function, packed_metadata = 1, ()

        def run(self, *arguments):
            raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        launch._quickest(Broken(), 1, STREAM)
