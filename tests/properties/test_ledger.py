"""The ledger equals the sum of live storages at every moment, whatever a program does.

The truth is counted by the test itself: of every tensor, variable, array and session that the program keeps, the
memory block behind it, each block once. The ledger must agree after every step, to the byte, without a garbage
collection; nothing may be refused that fits, nothing may be let in that does not.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.budget.ledger import REGION, Account, LimitReached, accounts
from situs._src.runtime.eager import convert

pytestmark = pytest.mark.virtual
ROOM = 2**18  # what each GPU may hold in these tests: little, so that it is often full
DEVICES = (0, 1)
HOST = -1
dtypes = st.sampled_from([tf.float32, tf.float64, tf.uint8, tf.complex64, tf.bool])
devices = st.sampled_from(DEVICES)
picks = st.integers(0, 10**6)


class Kept(NamedTuple):
    """Something that keeps a block of memory alive."""

    thing: Any
    device: int
    address: int
    size: int


def kept(tensor: tf.Tensor, thing: Any = None) -> Kept:
    storage = tensor._value.untyped_storage()
    return Kept(tensor if thing is None else thing, _number(tensor), storage.data_ptr(), storage.nbytes())


def _number(tensor: tf.Tensor) -> int:
    return int(tensor.device[-1]) if "GPU" in tensor.device else HOST


class Programs(RuleBasedStateMachine):
    """Makes, shares, copies and drops tensors on two GPUs."""

    def __init__(self) -> None:
        super().__init__()
        gc.collect()
        gc.disable()
        self.accounts = accounts()[:2]
        self.limits = [account.limit for account in self.accounts]
        convert._scalars.clear()  # kept until memory is short, by tests before this one too
        self.base = [account.usage().current for account in self.accounts]
        self.live: list[Kept] = []
        self.variables: list[tf.Variable] = []
        self.session: tf1.Session | None = None
        for account, base in zip(self.accounts, self.base, strict=True):
            account.limit = base + ROOM
            account.reset_peak()
        self.peak = [0, 0]

    def teardown(self) -> None:
        self.live.clear()
        self.variables.clear()
        if self.session is not None:
            self.session.close()
        found = [account.usage().current for account in self.accounts]
        for account, limit in zip(self.accounts, self.limits, strict=True):
            account.limit = limit
        gc.enable()
        if sys.exception() is None:  # else its frames hold what they were working on
            assert found == self.base

    # The truth.

    def held(self, device: int) -> int:
        """The bytes behind everything that is kept on a device, each block once."""
        things = [*self.live, *(kept(variable.value()) for variable in self.variables)]
        blocks = {thing.address: thing.size for thing in things if thing.device == device}
        return sum(blocks.values()) + (self.session_size if self.session is not None and device == 0 else 0)

    def run(self, call: Any, size: int, device: int) -> Any:
        """The result of a call that takes `size` more bytes of a device: refused if, and only if, they are too many."""
        if device == HOST:
            return call()
        wanted = self.held(device) + size
        try:
            made = call()
        except tf.errors.ResourceExhaustedError:
            assert wanted > ROOM, "refused what fits"
            return None
        assert wanted <= ROOM, "let in what does not fit"
        self.peak[device] = max(self.peak[device], wanted)
        return made

    def pick(self, number: int) -> tf.Tensor:
        tensors = [thing.thing for thing in self.live if isinstance(thing.thing, tf.Tensor)]
        return tensors[number % len(tensors)]

    def has_tensors(self) -> bool:
        return any(isinstance(thing.thing, tf.Tensor) for thing in self.live)

    @invariant()
    def the_ledger_is_the_sum_of_live_storages(self) -> None:
        for device, (account, base) in enumerate(zip(self.accounts, self.base, strict=True)):
            usage, held = account.usage(), self.held(device)
            assert usage.current - base == held
            assert sum(holding.size for holding in account.holdings()) == usage.current
            assert held <= ROOM
            self.peak[device] = max(self.peak[device], held)
            assert usage.peak - base == self.peak[device]

    # Making.

    @rule(count=st.integers(0, 2**14), dtype=dtypes, device=devices)
    def make(self, count: int, dtype: tf.DType, device: int) -> None:
        with tf.device(f"/gpu:{device}"):
            made = self.run(lambda: tf.zeros([count], dtype), count * dtype.size, device)
        if made is not None:
            self.live.append(kept(made))

    @rule(count=st.integers(1, 2**14), device=devices)
    def make_a_constant(self, count: int, device: int) -> None:
        with tf.device(f"/gpu:{device}"):
            made = self.run(lambda: tf.constant(np.ones(count, np.float32)), 4 * count, device)
        if made is not None:
            self.live.append(kept(made))

    @precondition(has_tensors)
    @rule(number=picks)
    def compute(self, number: int) -> None:
        value = self.pick(number)
        size = int(np.prod(value.shape.as_list(), dtype=np.int64)) * value.dtype.size
        with tf.device(value.device):
            made = self.run(lambda: tf.equal(value, value), size // value.dtype.size, _number(value))
        if made is not None:
            self.live.append(kept(made))

    @precondition(has_tensors)
    @rule(number=picks, device=devices)
    def copy(self, number: int, device: int) -> None:
        value = self.pick(number)
        elsewhere = _number(value) != device
        size = value.dtype.size * int(np.prod(value.shape.as_list(), dtype=np.int64)) if elsewhere else 0
        made = self.run(lambda: value.gpu(device), size, device)
        if made is not None:
            self.live.append(kept(made))

    @precondition(has_tensors)
    @rule(number=picks)
    def copy_to_the_host(self, number: int) -> None:
        self.live.append(kept(self.pick(number).cpu()))

    @rule(exponent=st.integers(17, 60), device=devices)
    def ask_for_far_too_much(self, exponent: int, device: int) -> None:
        with tf.device(f"/gpu:{device}"), pytest.raises(tf.errors.ResourceExhaustedError):
            tf.zeros([2**exponent], tf.float64)

    # Sharing.

    @precondition(has_tensors)
    @rule(number=picks, cut=st.integers(0, 100))
    def view(self, number: int, cut: int) -> None:
        value = self.pick(number)
        with tf.device(value.device):
            for view in (tf.reshape(value, [1, -1]), tf.expand_dims(value, 0), value[cut : cut + 50], value[..., ::1]):
                self.live.append(kept(view))

    @precondition(has_tensors)
    @rule(number=picks)
    def split(self, number: int) -> None:
        value = self.pick(number)
        with tf.device(value.device):
            flat = tf.reshape(value, [-1])
            self.live += [kept(part) for part in tf.split(flat[: len(flat) // 4 * 4], 4)]

    @precondition(has_tensors)
    @rule(number=picks)
    def give_to_numpy_or_pytorch(self, number: int) -> None:
        value = self.pick(number)
        self.live.append(kept(value, np.asarray(value)))
        self.live.append(kept(value, torch.from_dlpack(value)))

    # Variables.

    @rule(count=st.integers(1, 2**12), device=devices)
    def make_a_variable(self, count: int, device: int) -> None:
        with tf.device(f"/gpu:{device}"):
            made = self.run(lambda: tf.Variable(tf.ones([count])), 4 * count, device)
        if made is not None:
            self.variables.append(made)

    @precondition(lambda self: self.variables)
    @rule(number=picks)
    def change_a_variable(self, number: int) -> None:
        variable = self.variables[number % len(self.variables)]
        self.run(lambda: variable.assign_add(variable), 4 * len(variable), _number(variable))

    @precondition(lambda self: self.variables)
    @rule(number=picks, other=picks)
    def share_a_variables_value(self, number: int, other: int) -> None:
        variable = self.variables[number % len(self.variables)]
        self.live.append(kept(variable.value()))
        with tf.device(variable.device):
            new = self.run(lambda: tf.ones(variable.shape), 4 * len(variable), _number(variable))
        if new is not None:
            variable.assign(new)
            self.live.append(kept(new))

    # Sessions.

    @initialize(count=st.integers(1, 1000))
    def open_a_session(self, count: int) -> None:
        self.count = count
        with tf1.Graph().as_default() as graph, tf1.device("/gpu:0"):
            self.fed = tf1.placeholder(tf.float32, [None])
            self.variable = tf1.Variable(tf1.zeros([count]))
            self.change = self.variable.assign_add(tf1.ones([count])).op
            self.double = tf1.reduce_sum(tf1.tanh(self.fed + self.fed))
        self.session = tf1.Session(graph=graph)
        self.session.run(self.variable.initializer)
        self.session_size = 4 * count
        self._note_peaks()

    @precondition(lambda self: self.session is not None)
    @rule(count=st.integers(0, 2**15))
    def run_the_session(self, count: int) -> None:
        try:
            self.session.run([self.double, self.change], {self.fed: np.zeros(count, np.float32)})
        except tf.errors.ResourceExhaustedError:
            assert self.held(0) + 12 * count + 12 * self.count + 8 > ROOM, "refused what fits"
        self._note_peaks()
        changed = self.session.run(self.variable)
        assert (changed == changed[0]).all()
        assert len(changed) == self.count

    @precondition(lambda self: self.session is not None)
    @rule()
    def close_the_session(self) -> None:
        self.session.close()
        self.session = None

    def _note_peaks(self) -> None:
        """What a run takes for a while is the planner's affair, as long as it keeps to the limit."""
        for device, (account, base) in enumerate(zip(self.accounts, self.base, strict=True)):
            assert self.peak[device] <= account.usage().peak - base <= ROOM
            self.peak[device] = account.usage().peak - base

    # Letting go.

    @precondition(lambda self: self.live)
    @rule(number=picks)
    def drop(self, number: int) -> None:
        del self.live[number % len(self.live)]

    @precondition(lambda self: self.variables)
    @rule(number=picks)
    def drop_a_variable(self, number: int) -> None:
        del self.variables[number % len(self.variables)]

    @rule()
    def drop_everything(self) -> None:
        self.live.clear()

    @rule()
    def forget_the_peak(self) -> None:
        for device, account in enumerate(self.accounts):
            account.reset_peak()
            self.peak[device] = self.held(device)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=25, stateful_step_count=40, deadline=None, report_multiple_bugs=False)


class Block:
    """What the ledger needs of a storage: it can go."""


steps = st.one_of(
    st.tuples(st.just("hold"), st.integers(0, 8 * REGION)),
    st.tuples(st.just("view"), picks),
    st.tuples(st.just("drop"), picks),
    st.tuples(st.sampled_from(["release", "reset"]), st.just(0)),
)


@given(limit=st.integers(1, 12 * REGION), growing=st.booleans(), program=st.lists(steps, max_size=60))
def test_an_account_agrees_with_a_model_of_it(limit: int, growing: bool, program: list[tuple[str, int]]) -> None:
    account = Account(accounts()[0].device, limit, growing)
    live: list[tuple[Block, int]] = []
    peak = 0
    for step, number in program:
        held = sum(size for _, size in live)
        if step == "hold":
            block = Block()
            if held + number <= limit:
                account.hold(block, id(block), number, "Op", lambda: None)
                live.append((block, number))
            else:
                with pytest.raises(LimitReached) as raised:
                    account.hold(block, id(block), number, "Op", lambda: None)
                assert (raised.value.size, raised.value.held) == (number, held)
            del block
        elif step == "view" and live:
            block, size = live[number % len(live)]
            account.hold(block, id(block), size, "View", lambda: None)
            del block
        elif step == "drop" and live:
            del live[number % len(live)]
        elif step == "release":
            account.released()
        elif step == "reset":
            account.reset_peak()
            peak = 0
        held = sum(size for _, size in live)
        peak = max(peak, held)
        usage = account.usage()
        assert (usage.current, usage.peak) == (held, peak)
        assert held <= usage.reserved <= limit
