"""The accounts of the ledger: what is entered, what is refused, and what is left when storages go."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count

import pytest

import situs as tf
from situs._src.base.budget.ledger import LISTED_FROM, REGION, Account, LimitReached, accounts
from situs._src.base.devices.inventory import process

MIB = 2**20


class Storage:
    """What the ledger knows of a storage: something that lives and goes."""


@pytest.fixture(autouse=True)
def _without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def account() -> Account:
    return Account(accounts()[0].device, limit=100)


def put(account: Account, size: int, op: str = "Add", made_at: object = None) -> Storage:
    storage = Storage()
    account.hold(storage, id(storage), size, op, lambda: made_at)
    return storage


# Current and peak.


def test_what_is_held_is_counted_until_it_goes(account):
    first, second = put(account, 10), put(account, 20)
    assert account.usage()[:2] == (30, 30)
    del first
    assert account.usage()[:2] == (20, 30)
    del second
    assert account.usage()[:2] == (0, 30)


def test_a_storage_is_entered_once_however_many_views_it_has(account):
    storage = put(account, 10)
    for _ in range(3):
        account.hold(storage, id(storage), 10, "Reshape", pytest.fail)  # the program is not searched for its line
    assert account.usage().current == 10
    assert [holding.op for holding in account.holdings()] == ["Add"]


def test_a_storage_at_the_address_of_one_that_has_gone_is_a_new_one(account):
    old = Storage()
    account.hold(old, 1, 10, "Old", lambda: None)
    del old
    new = Storage()
    account.hold(new, 1, 25, "New", lambda: None)
    assert [(holding.op, holding.size) for holding in account.holdings()] == [("New", 25)]
    assert account.usage().current == 25


def test_an_empty_storage_is_not_entered(account):
    empty = put(account, 0)
    assert account.holdings() == []
    assert not account.used
    del empty


def test_the_peak_counts_from_where_it_was_reset(account):
    kept = put(account, 30)
    for _ in range(2):
        put(account, 50)
    assert account.usage().peak == 80
    account.reset_peak()
    assert account.usage()[:2] == (30, 30)
    other = put(account, 5)
    assert account.usage()[:2] == (35, 35)
    del kept, other


def test_what_has_gone_unseen_does_not_count_towards_the_next_peak(account):
    for _ in range(10):
        put(account, 60)  # gone at once; two of them together would not fit
    assert account.usage()[:2] == (0, 60)


# The limit.


@pytest.mark.parametrize(("size", "fits"), [(1, True), (60, True), (61, False), (10**15, False)])
def test_the_limit_can_be_filled_to_the_last_byte_and_not_beyond(account, size, fits):
    kept, more = put(account, 40), Storage()
    if fits:
        account.hold(more, id(more), size, "Add", lambda: None)
        assert account.usage()[:2] == (40 + size, 40 + size)
    else:
        with pytest.raises(LimitReached, match=rf"{size} bytes do not fit on /job:localhost/.*GPU:0") as raised:
            account.hold(more, id(more), size, "Add", pytest.fail)
        assert (raised.value.account, raised.value.size, raised.value.held) == (account, size, 40)
        assert account.usage()[:2] == (40, 40)
        assert len(account.holdings()) == 1
    del kept


def test_a_refused_storage_fits_when_another_has_gone(account):
    first, second = put(account, 90), Storage()
    with pytest.raises(LimitReached):
        account.hold(second, id(second), 20, "Add", lambda: None)
    del first
    account.hold(second, id(second), 20, "Add", lambda: None)
    assert account.usage().current == 20


def test_an_allocator_that_counts_by_itself_is_believed_and_refuses_by_itself(account):
    reset = []
    account.read_from(lambda: (7, 8, 9), lambda: reset.append(True))
    storage = put(account, 1000)
    assert account.usage() == (7, 8, 9, 100)
    assert [holding.size for holding in account.holdings()] == [1000]
    account.reset_peak()
    assert reset == [True]
    del storage


# What is taken from the card.


def test_all_of_a_virtual_gpu_is_taken_at_first_use():
    account = Account(accounts()[0].device, limit=8 * MIB)
    assert account.usage().reserved == 0
    storage = put(account, 1)
    assert account.usage().reserved == 8 * MIB
    del storage


def test_a_growing_gpu_takes_what_is_needed_and_keeps_it_until_it_is_released():
    account = Account(accounts()[0].device, limit=5 * MIB, growing=True)
    kept = put(account, 1)
    taken = [account.usage().reserved]
    more = put(account, REGION)
    taken.append(account.usage().reserved)
    del more
    taken.append(account.usage().reserved)
    account.released()
    taken.append(account.usage().reserved)
    rest = put(account, 5 * MIB - 1)
    taken.append(account.usage().reserved)  # never more than the limit, which is no whole number of regions
    del rest, kept
    account.released()
    assert [*taken, account.usage().reserved] == [REGION, 2 * REGION, 2 * REGION, REGION, 5 * MIB, 0]


# By op and line.


@pytest.mark.parametrize("size", [1, 0])
def test_a_storage_that_becomes_the_value_of_a_variable_is_called_that(account, size):
    storage = put(account, size)
    account.rename(id(storage), "Variable w")
    assert [holding.op for holding in account.holdings()] == ["Variable w"] * size  # what is not entered stays so


# Recording.


def test_a_recording_has_what_came_and_went_and_what_was_there(account):
    before = put(account, 10, "Before")
    account.record()
    during = put(account, 20, "During")
    del before
    events = account.stop_recording()
    assert [(event.op, event.size) for event in events] == [("Before", 10), ("During", 20), ("Before", -10)]
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert account.recorded() == []
    del during
    assert account.usage().current == 0


def test_what_has_gone_before_a_recording_is_not_in_it(account):
    gone = put(account, 10)
    del gone
    account.record()
    assert account.stop_recording() == []


def test_a_recording_can_be_read_while_it_goes_on(account):
    account.record()
    first, second = put(account, 10), put(account, 20)
    del first
    assert [event.size for event in account.recorded()] == [10, 20, -10]
    del second
    assert [event.size for event in account.recorded()] == [10, 20, -10, -20]


def test_small_tensors_are_listed_while_recording_even_where_an_allocator_counts(account):
    account.read_from(lambda: (0, 0, 0), lambda: None)
    assert not account.enters_all
    account.record()
    assert account.enters_all
    account.stop_recording()
    assert account.listed_from == LISTED_FROM


def test_an_allocator_that_begins_to_count_during_a_recording_leaves_small_tensors_listed(account):
    account.record()
    account.read_from(lambda: (0, 0, 0), lambda: None)
    assert account.enters_all
    account.stop_recording()
    assert not account.enters_all


# Interrupts.


def interrupted(line: int, call: Callable[[], None]) -> bool:
    """Presses Ctrl-C before a line of those with which an account enters and strikes out; False if there are fewer."""
    lines, before = count(1), sys.gettrace()
    parts = {Account._enter.__code__, Account._settle.__code__}

    def trace(frame, event, argument):
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return trace if frame.f_code in parts else None

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_leaves_the_count_right():
    for line in count(1):
        account = Account(accounts()[0].device, limit=100)
        kept, gone, new = put(account, 10), put(account, 20), Storage()
        del gone
        if not interrupted(line, lambda account=account, new=new: account.hold(new, id(new), 30, "Add", lambda: None)):
            break
        assert account.usage().current == sum(holding.size for holding in account.holdings())
        account.hold(new, id(new), 30, "Add", lambda: None)
        assert [holding.size for holding in account.holdings()] == [10, 30]
        assert account.usage().current == 40
        del kept, new
        assert account.usage().current == 0
    assert line > 15


# Threads.


def test_threads_that_enter_and_drop_leave_nothing_behind():
    account = Account(accounts()[0].device, limit=8 * 3)
    wrong: list[str] = []

    def work() -> None:
        for _ in range(500):
            kept = [put(account, 1) for _ in range(3)]
            usage = account.usage()
            if not 3 <= usage.current <= usage.peak <= usage.limit:
                wrong.append(str(usage))
            kept.clear()

    _run_together(work, 8)
    assert wrong == []
    assert account.usage().current == 0
    assert account.holdings() == []


def test_the_limit_holds_when_threads_compete_for_the_last_byte():
    account = Account(accounts()[0].device, limit=10)
    kept: list[Storage] = []
    refused: list[bool] = []

    def work() -> None:
        for _ in range(100):
            try:
                kept.append(put(account, 1))
            except LimitReached:
                refused.append(True)

    _run_together(work, 8)
    assert len(kept) == account.usage().current == account.usage().peak == 10
    assert len(refused) == 790


def _run_together(work, count):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# The accounts of this process.


def test_every_gpu_has_an_account_and_the_cpu_has_none():
    devices = process.devices()
    gpus = sorted((device for device in devices if device.type == "GPU"), key=lambda device: device.index)
    assert [account.device for account in accounts()] == gpus
    assert all(device.account is None for device in devices if device.type == "CPU")
    assert all(account.limit == account.device.memory_limit for account in accounts())


def test_a_tensor_is_counted_where_it_is_and_nowhere_else():
    before = [account.usage().current for account in accounts()]
    with tf.device("/gpu:1"):
        tensor = tf.zeros([1000])
    with tf.device("/cpu:0"):
        other = tf.zeros([1000])
    after = [account.usage().current for account in accounts()]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, 4000, 0, 0]
    del tensor, other
