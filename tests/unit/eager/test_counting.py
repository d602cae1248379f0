"""Counted functions: their results are entered where they lie, and a shortage is met by giving back first."""

from __future__ import annotations

import gc
import inspect
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from situs._src.base.budget.ledger import LISTED_FROM, Account, LimitReached, accounts
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.origin import line_of, origin
from situs._src.runtime.eager import allocations
from situs._src.runtime.eager.allocations import beside, counted, enter, enter_variable, make_room, release
from situs._src.runtime.eager.tensor_list import TensorList, add_lists

pytestmark = pytest.mark.virtual
MIB = 2**20


@pytest.fixture(autouse=True)
def _collections_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(allocations, "_in_vain", 0.0)
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def device() -> Device:
    """A GPU of 1000 bytes that nobody else uses."""
    first = accounts()[0].device
    made = Device("GPU", 9, first.physical, 1000, first.card)
    made.account = Account(made, 1000)
    return made


def ones(count: int) -> torch.Tensor:
    return torch.ones(count, dtype=torch.uint8)


def sizes(device: Device) -> list[int]:
    return [holding.size for holding in device.account.holdings()]


# What is entered.


def test_functions_of_the_cpu_are_left_as_they_are():
    host = next(device for device in process.devices() if device.type == "CPU")
    assert counted(torch.add, host, "Add") is torch.add


@pytest.mark.parametrize(
    ("make", "entered"),
    [
        (lambda: ones(10), [10]),
        (lambda: torch.ones(10, dtype=torch.float64), [80]),
        (lambda: (ones(10), ones(20)), [10, 20]),
        (lambda: [ones(10), (ones(20), [ones(30)])], [10, 20, 30]),
        (lambda: ones(10).view(2, 5)[0, 1:2], [10]),
        (lambda: torch.split(ones(10), 2), [10]),
        (lambda: ones(1).expand(500), [1]),
        (lambda: ones(0), []),
        (lambda: (), []),
        (lambda: None, []),
        (lambda: 7, []),
        (lambda: "text", []),
    ],
)
def test_the_storages_of_results_are_entered_once_each(device, make, entered):
    made = counted(make, device, "Op")()
    assert sizes(device) == entered
    del made
    assert sizes(device) == []


def test_a_result_that_is_its_own_input_is_not_entered_again(device):
    same = counted(lambda value: value, device, "Identity")
    value = counted(ones, device, "First")(10)
    assert same(same(value)) is value
    assert [(holding.op, holding.size) for holding in device.account.holdings()] == [("First", 10)]


def test_arguments_reach_the_function_and_its_name_stays(device):
    run = counted(torch.full, device, "Fill")
    assert run((2,), fill_value=3, dtype=torch.uint8).tolist() == [3, 3]
    assert counted(ones, device, "Ones").__name__ == "ones"


def test_the_line_is_the_callers_or_the_one_that_is_given(device):
    here = origin()
    first = counted(ones, device, "Given", here)(1)
    second = counted(ones, device, "Called")(1)
    line = inspect.currentframe().f_lineno - 1
    found = [line_of(holding.made_at) for holding in device.account.holdings()]
    assert found == [line_of(here), f"test_counting.py:{line}"]
    del first, second


def test_where_an_allocator_counts_only_large_tensors_are_listed(device):
    device.account.read_from(lambda: (0, 0, 0), lambda: None)
    kept = [counted(ones, device, "Op")(size) for size in (1, LISTED_FROM - 1, LISTED_FROM)]
    assert sizes(device) == [LISTED_FROM]
    del kept


def test_what_comes_from_elsewhere_can_be_entered_too(device):
    value = ones(10)
    assert enter(value, device.account, "DLPack") is value
    assert sizes(device) == [10]


def test_a_value_is_called_by_the_variable_that_holds_it(device):
    value = counted(ones, device, "Mul")(10)
    enter_variable(value, device, "w")
    enter_variable(np.array([b"text"], object), device, "words")
    enter_variable(ones(3), device, "elsewhere")
    assert [holding.op for holding in device.account.holdings()] == ["Variable w"]


# Running out.


def test_a_result_that_does_not_fit_is_refused_and_not_kept(device):
    calls = []
    with pytest.raises(LimitReached):
        counted(lambda: calls.append(1) or ones(1001), device, "Op")()
    assert calls == [1]  # nothing could be given back, so it was not tried again
    assert sizes(device) == []


def test_a_refusal_knows_what_did_not_fit_and_holds_none_of_it(device):
    with pytest.raises(LimitReached) as raised:
        counted(lambda: torch.zeros(30, 20, dtype=torch.int16), device, "Op")()
    error = raised.value
    assert (error.made, error.size, error.held) == (("Op", (30, 20), torch.int16), 1200, 0)


def test_of_several_results_that_do_not_fit_together_none_is_kept(device):
    with pytest.raises(LimitReached):
        counted(lambda: [ones(400) for _ in range(3)], device, "Op")()
    assert sizes(device) == []


def test_garbage_is_given_back_before_a_function_fails(device):
    run, calls = counted(lambda n: calls.append(n) or ones(n), device, "Op"), []
    _in_a_cycle(run(900))
    assert run(800).numel() == 800
    assert calls == [900, 800, 800]


def test_what_the_first_try_made_is_not_in_the_way_of_the_second(device):
    _in_a_cycle(counted(ones, device, "Op")(500))
    made = counted(lambda: [ones(300) for _ in range(3)], device, "Op")()
    assert sizes(device) == [300, 300, 300]
    del made


def test_what_a_kernel_had_made_for_itself_has_gone_before_the_second_try(device):
    alive, found = [], []

    def kernel() -> torch.Tensor:
        own = ones(10)
        alive.append(_finalizer(own))
        found.append([finalize.alive for finalize in alive])
        if len(alive) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return own

    _in_a_cycle(counted(ones, device, "Op")(1))
    counted(kernel, device, "Op")()
    assert found == [[True], [False, True]]


@pytest.mark.parametrize("error", [ValueError("no"), MemoryError("the host's"), RuntimeError("shapes")])
def test_other_failures_are_left_alone(device, error):
    calls = []

    def fail() -> None:
        calls.append(1)
        raise error

    with pytest.raises(type(error)) as raised:
        counted(fail, device, "Op")()
    assert raised.value is error
    assert calls == [1]


def test_what_must_be_done_once_is_done_once(device):
    calls = []
    run = counted(lambda count: (calls.append(count), ones(count))[1], device, "Op", once=True)
    _in_a_cycle(run(900))
    assert run(800).shape == (800,)  # the garbage made room for it
    assert calls == [900, 800]
    held = run(100)
    with pytest.raises(LimitReached):
        run(950)
    assert calls == [900, 800, 100, 950]
    assert sizes(device) == [100]
    assert held.shape == (100,)


def test_a_shortage_leaves_no_reference_cycle(device):
    value = counted(ones, device, "Op")(900)
    for _ in range(3):
        try:
            counted(lambda v: (v.clone(), ones(200)), device, "Op")(value)
        except LimitReached:
            pass
        assert sizes(device) == [900]


def test_collecting_garbage_takes_little_of_the_time(device, monkeypatch):
    collected = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(1))
    monkeypatch.setattr(allocations.time, "perf_counter", iter(range(1000)).__next__)
    for _ in range(50):
        make_room(device.account)
    assert 1 <= len(collected) <= 20


def _in_a_cycle(value: object) -> None:
    cycle = [value]
    cycle.append(cycle)


def _finalizer(value: torch.Tensor):
    import weakref

    return weakref.finalize(value.untyped_storage(), lambda: None)


# Giving back.


def test_what_a_virtual_gpu_took_and_does_not_use_is_released(device):
    account = Account(device, 64 * MIB)
    device.account = account
    kept = counted(ones, device, "Op")(3 * MIB)
    assert account.usage().reserved == 64 * MIB
    release(device)
    assert account.usage().reserved == 4 * MIB
    del kept
    release(device)
    assert account.usage().reserved == 0


def test_releasing_all_reaches_every_gpu():
    kept = [torch.zeros(5, dtype=torch.uint8) for _ in accounts()]
    for account, value in zip(accounts(), kept, strict=True):
        enter(value, account, "Op")
    release()
    for account in accounts():
        usage = account.usage()
        assert usage.current <= usage.reserved < usage.current + 2 * MIB


def test_releasing_the_memory_of_a_cpu_does_nothing():
    release(next(device for device in process.devices() if device.type == "CPU"))


def test_a_virtual_gpu_has_no_cache_whose_return_would_make_room(device):
    kept = counted(ones, device, "Op")(1)
    assert not make_room(device.account)
    del kept


def test_an_allocators_cache_that_was_returned_makes_room(device):
    reserved = iter([100, 40])
    device.account.read_from(lambda: (10, 10, next(reserved)), lambda: None)
    assert make_room(device.account)


def test_results_that_go_in_other_threads_are_struck_out(device):
    kept = [counted(ones, device, "Op")(1) for _ in range(900)]
    threads = [threading.Thread(target=kept.clear) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes(device) == []
    assert device.account.usage().current == 0


# Sums of lists, whose rows lie anywhere.


@pytest.fixture
def gpu() -> Account:
    return accounts()[0]


def test_sums_of_lists_are_entered_where_their_rows_are(gpu):
    rows = [enter(torch.ones(MIB // 4), gpu, "Ones") for _ in range(2)]
    before = gpu.usage().current
    total = add_lists(TensorList(rows), TensorList(rows[1:]))
    assert gpu.usage().current == before + MIB
    assert [holding.op for holding in gpu.holdings()].count("TensorListAdd") == 1
    nested = add_lists(TensorList([TensorList(rows)]), TensorList([TensorList(rows)]))
    assert gpu.usage().current == before + 3 * MIB
    del total, nested
    assert gpu.usage().current == before


def test_sums_of_lists_on_the_host_are_entered_nowhere(gpu):
    row = torch.ones(MIB // 4)
    before = gpu.usage().current
    total = add_lists(TensorList([row]), TensorList([row]))
    assert gpu.usage().current == before
    assert float(total.get(0)[0]) == 2.0
    assert beside(torch.add, row, "Add") is torch.add


def test_a_sum_of_lists_that_does_not_fit_is_refused(gpu, monkeypatch):
    row = enter(torch.ones(MIB // 4), gpu, "Ones")
    monkeypatch.setattr(gpu, "limit", gpu.usage().current + MIB // 2)
    with pytest.raises(LimitReached):
        add_lists(TensorList([row]), TensorList([row]))
