"""Lists of tensors as values: never changed, cheap to write row by row, and to go back through."""

from __future__ import annotations

import random
import threading

import torch

from situs._src.runtime.eager.tensor_list import TensorList, add_lists


def test_a_list_is_never_changed():
    lists, truths = [TensorList(size=4)], [[None] * 4]
    choose = random.Random(0)
    for _ in range(300):
        base = choose.randrange(len(lists))
        number, row = choose.randrange(6), choose.choice([None, object()])
        lists.append(lists[base].with_row(number, row))
        truth = list(truths[base])
        if row is not None:
            truth += [None] * (number + 1 - len(truth))
        if number < len(truth):
            truth[number] = row
        truths.append(truth)
        seen = choose.randrange(len(lists))
        assert lists[seen].rows() == truths[seen]
    assert [made.rows() for made in lists] == truths
    assert [len(made) for made in lists] == [len(truth) for truth in truths]


def test_threads_read_old_and_new_lists():
    lists = [TensorList(size=50)]
    for number in range(50):
        lists.append(lists[-1].with_row(number, number + 1))
    wrong: list[int] = []

    def look(seed):
        choose = random.Random(seed)
        for _ in range(500):
            length = choose.randrange(51)
            rows = lists[length].rows()
            if rows != [n + 1 if n < length else None for n in range(50)]:
                wrong.append(length)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sums_take_what_is_not_set_for_zeros():
    one, other = TensorList([torch.tensor(1.0), None]), TensorList([torch.tensor(2.0), torch.tensor(5.0), None])
    assert [float(row) for row in add_lists(one, other).rows()[:2]] == [3.0, 5.0]
    nested = add_lists(TensorList([one]), TensorList([other, one]))
    assert [float(row) for row in nested.get(0).rows()[:2]] == [3.0, 5.0]
    assert nested.get(1) is one
    assert [one.get(0), other.get(0)] == [1.0, 2.0]
