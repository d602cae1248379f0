"""Writing into what variables hold: only where nobody else can see it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.devices.inventory import process
from situs._src.base.shapes import TensorShape
from situs._src.runtime.eager import in_place
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import rewrite
from situs._src.variables.apply_ops import apply_gradient_descent
from situs.errors import FailedPreconditionError
from tests.conftest import STUCK


def add_1(values):
    torch._foreach_add_(values, 1.0)


def cell_of(value):
    return Cell("v", tf.float32, TensorShape(value.shape), place(host(), tf.float32), value)


def alone():
    return cell_of(torch.zeros(2, 3) + 0)


def memory(cell):
    return cell.value.data_ptr()


# Values that only the cell holds.


def test_a_value_that_nobody_else_holds_is_written_into():
    cell = alone()
    before = memory(cell)
    rewrite([cell], add_1)
    assert memory(cell) == before
    assert cell.value.tolist() == [[1.0] * 3] * 2


def test_many_cells_are_written_into_at_once():
    cells = [alone() for _ in range(5)]
    before = [memory(cell) for cell in cells]
    rewrite(cells, add_1)
    assert [memory(cell) for cell in cells] == before


def test_one_value_that_is_shared_costs_the_others_nothing():
    cells = [alone() for _ in range(3)]
    before = [memory(cell) for cell in cells]
    held = cells[1].value
    rewrite(cells, add_1)
    assert [memory(cell) == old for cell, old in zip(cells, before, strict=True)] == [True, False, True]
    assert held.sum() == 0


def test_what_is_copied_once_is_written_into_after_that():
    cell = cell_of(torch.from_numpy(np.zeros((2, 3), np.float32)))
    rewrite([cell], add_1)
    before = memory(cell)
    rewrite([cell], add_1)
    assert memory(cell) == before


# Values that others hold as well.

SHARED = {
    "a reference": lambda value: value,
    "a view": lambda value: value.view(6),
    "a slice": lambda value: value[0],
    "a transposed view": lambda value: value.t(),
    "a detached tensor": lambda value: value.detach(),
    "an expanded view": lambda value: value.expand(4, 2, 3),
    "a NumPy array": lambda value: value.numpy(),
    "a DLPack capsule": lambda value: value.__dlpack__(),
    "an array through DLPack": lambda value: np.from_dlpack(value),
    "a tensor through DLPack": lambda value: torch.from_dlpack(value),
    "a tuple": lambda value: (value,),
    "a closure": lambda value: lambda: value,
}


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_what_others_hold_does_not_change(share):
    cell = alone()
    other, before = share(cell.value), memory(cell)
    rewrite([cell], add_1)
    assert memory(cell) != before
    assert cell.value.sum() == 6
    seen = next(item for item in [other() if callable(other) else other])
    if isinstance(seen, (torch.Tensor, np.ndarray)):
        assert not seen.any()


def test_memory_of_another_library_is_not_written_into():
    array = np.zeros((2, 3), np.float32)
    cell = cell_of(torch.from_numpy(array))
    rewrite([cell], add_1)
    assert not array.any()
    assert cell.value.sum() == 6


def test_a_value_that_is_spread_over_less_memory_is_made_whole():
    cell = cell_of(torch.zeros(1).expand(4))
    rewrite([cell], lambda values: values[0].add_(torch.arange(4.0)))
    assert cell.value.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_part_of_larger_memory_is_given_its_own():
    with torch._C._AutoDispatchBelowAutograd():
        cell = cell_of(torch.zeros(100)[10:20])
    rewrite([cell], add_1)
    assert cell.value.untyped_storage().nbytes() == 40


@pytest.mark.parametrize("shape", [(0,), (), (3, 0, 2)])
def test_empty_values_and_scalars_are_fine(shape):
    cell = cell_of(torch.zeros(shape) + 0)
    rewrite([cell], add_1)
    assert cell.value.shape == shape


# Through tensors and variables.


def test_a_tensor_that_was_read_from_a_variable_stays_as_it_was(on_device):
    v = tf.Variable([1.0, 2.0])
    for _ in range(3):
        before = v.value()
        rewrite([v._cell], add_1)
        assert (v.numpy() - before.numpy()).tolist() == [1.0, 1.0]


def test_a_view_of_a_variable_stays_as_it_was():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rewrite([v._cell], add_1)
    row, flat = v[0], tf.reshape(v, [-1])
    rewrite([v._cell], add_1)
    assert row.numpy().tolist() == [2.0, 3.0]
    assert flat.numpy().tolist() == [2.0, 3.0, 4.0, 5.0]


def test_an_array_without_a_copy_stays_as_it_was():
    v = tf.Variable([1.0, 2.0])
    rewrite([v._cell], add_1)
    array = np.asarray(v)
    rewrite([v._cell], add_1)
    assert array.tolist() == [2.0, 3.0]


def test_what_a_session_fetched_stays_as_it_was():
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.Variable([1.0, 2.0])
        with tf1.get_default_graph().as_default():
            change = apply_gradient_descent.op(v._as_graph_element(), 1.0, [-1.0, -1.0])
        session.run(v.initializer)
        for _ in range(3):
            before = session.run(v)
            shown = before.tolist()
            assert session.run([v, change.op])[0].tolist() in (shown, [x + 1 for x in shown])
            assert before.tolist() == shown
        assert session.run(v).tolist() == [4.0, 5.0]


def test_two_variables_with_one_value_part_ways():
    a = tf.Variable([1.0, 2.0])
    b = tf.Variable(a.value())
    rewrite([a._cell], add_1)
    assert b.numpy().tolist() == [1.0, 2.0]


def test_a_constant_that_a_variable_began_with_stays_as_it_is():
    first = tf.constant([1.0, 2.0])
    v = tf.Variable(first)
    rewrite([v._cell], add_1)
    assert first.numpy().tolist() == [1.0, 2.0]


def test_the_ledger_knows_copies_and_sees_no_new_memory_where_there_is_none():
    with tf.device("/GPU:0"):
        v = tf.Variable(tf.zeros([256, 256]))
    account = next(device for device in process.devices() if device.type == "GPU").account
    rewrite([v._cell], add_1)
    before = account.usage().current
    rewrite([v._cell], add_1)
    assert account.usage().current == before
    held = v.value()
    rewrite([v._cell], add_1)
    assert account.usage().current == before + 256 * 256 * 4
    assert any("Variable" in holding.op for holding in account.holdings() if holding.size == 256 * 256 * 4)
    del held


# Failures.


def test_a_cell_without_a_value_is_an_error_and_leaves_the_others_alone():
    full, empty = alone(), Cell("e", tf.float32, TensorShape([1]), place(host(), tf.float32))
    with pytest.raises(FailedPreconditionError, match="uninitialized value e"):
        rewrite([full, empty], add_1)
    assert full.value.sum() == 0
    assert not full.lock._is_owned()


@pytest.mark.parametrize("shared", [False, True])
def test_a_failure_before_writing_changes_nothing(shared):
    cell = alone()
    held = cell.value if shared else None
    before = memory(cell)

    def fail(values):
        raise MemoryError("no room")

    with pytest.raises(MemoryError):
        rewrite([cell], fail)
    assert memory(cell) == before
    assert cell.is_initialized
    assert cell.away is None
    assert held is None or cell.value is held


def test_room_is_looked_for_once_before_giving_up(monkeypatch):
    tried = []
    monkeypatch.setattr(in_place, "make_room", lambda account: tried.append(account) or True)
    with tf.device("/GPU:0"):
        v = tf.Variable([1.0])

    def make():
        if not tried:
            raise torch.OutOfMemoryError("full")
        return "made"

    assert in_place.with_room(v._cell, make) == "made"


# Threads.


def test_a_reader_waits_while_a_value_is_written_and_keeps_what_it_read():
    cell, writing, go_on = alone(), threading.Event(), threading.Event()
    seen = []

    def slowly(values):
        values[0].add_(1.0)
        writing.set()
        go_on.wait(STUCK)
        values[0].add_(1.0)

    writer = threading.Thread(target=rewrite, args=([cell], slowly))
    reader = threading.Thread(target=lambda: seen.append(cell.read()))
    writer.start()
    writing.wait(STUCK)
    assert cell.is_initialized
    reader.start()
    reader.join(0.05)
    assert reader.is_alive()  # half of it is written
    go_on.set()
    writer.join(STUCK)
    reader.join(STUCK)
    assert seen[0].sum() == 12
    rewrite([cell], add_1)
    assert seen[0].sum() == 12
    assert cell.value.sum() == 18


def test_threads_that_read_all_the_time_never_see_a_value_change():
    cell, stop, failures = cell_of(torch.zeros(50_000) + 0), threading.Event(), []

    def watch():
        while not stop.is_set():
            value = cell.read()
            first, last = float(value[0]), float(value[-1])
            if first != last or first != float(value[25_000]):
                failures.append((first, last))

    readers = [threading.Thread(target=watch) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(200):
        rewrite([cell], add_1)
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert float(cell.value[0]) == 200


def test_threads_that_write_the_same_cells_in_another_order_all_get_their_turn():
    cells = [alone() for _ in range(4)]

    def write(order):
        for _ in range(100):
            rewrite([cells[number] for number in order], add_1)

    threads = [threading.Thread(target=write, args=(order,)) for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STUCK)
    assert [float(cell.value[0, 0]) for cell in cells] == [300.0] * 4


# Assignments to a cell whose memory is recorded.


def recorded():
    cell = alone()
    cell.is_recorded = True
    return cell


def test_a_recorded_cell_keeps_its_memory_when_it_is_assigned():
    cell, given = recorded(), torch.ones(2, 3)
    before = memory(cell)
    in_place.exchange(cell, given)
    assert memory(cell) == before
    assert cell.value.tolist() == [[1.0] * 3] * 2
    rewrite([cell], add_1)
    assert given.tolist() == [[1.0] * 3] * 2, "what was assigned is the caller's still"


def test_a_cell_that_is_not_recorded_takes_the_value_itself():
    cell, given = alone(), torch.ones(2, 3)
    in_place.exchange(cell, given)
    assert cell.value is given


def test_a_recorded_cell_leaves_a_value_that_somebody_holds_as_it_was():
    cell, given = recorded(), torch.ones(2, 3)
    held = cell.value
    in_place.exchange(cell, given)
    assert cell.value is given
    assert held.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("given", [torch.ones(3), torch.ones(2, 3, dtype=torch.float64)], ids=["shape", "dtype"])
def test_a_recorded_cell_takes_a_value_of_another_kind_itself(given):
    cell = recorded()
    in_place.exchange(cell, given)
    assert cell.value is given


def test_a_variable_whose_memory_is_recorded_keeps_it_in_eager_code_and_in_functions():
    v = tf.Variable([1.0, 2.0])
    v.assign(v * 1.0)  # memory of PyTorch's own
    v._cell.is_recorded = True
    before = memory(v._cell)
    v.assign([3.0, 4.0])
    v.assign_add([1.0, 1.0])

    @tf.function
    def set_to(x):
        v.assign(x)

    set_to(tf.constant([7.0, 8.0]))
    assert memory(v._cell) == before
    assert v.numpy().tolist() == [7.0, 8.0]
    kept = v.read_value()
    v.assign(v[::-1])
    assert kept.numpy().tolist() == [7.0, 8.0]
    assert v.numpy().tolist() == [8.0, 7.0]
