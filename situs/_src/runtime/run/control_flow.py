"""Executing branches, loops and function calls, with the plans of their graphs.

    Branch(predicate, ...)    then, otherwise     one of the two
    Loop(state, ...)          test, step          until the test is false
    FunctionCall(...)         inside              once

Each is called like a kernel, with the run as first argument. Rebuilt with `again`, it executes its plans in another
way: on abstract values, for forecasts, or with swapping.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import torch

from situs._src.base.errors import InvalidArgumentError
from situs._src.ir.graph.function import operations_in
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import DRAWS
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.runtime.eager.tensor_list import TensorList
from situs._src.runtime.passes.accumulate import own
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run.state import Run

Function = Callable[..., tuple[Any, ...]]
Move = Callable[[Any], Any]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Part:
    """A graph of an operation: its plan, as a function.

    Attributes:
        plan: The plan.
        function: The plan as a function of the run, the graph's arguments, and some of what comes from outside.
        order: Which of that, by number.
        results: How many values it returns; what follows them is saved, in one list; None if nothing is.
        side_by_side: Whether the function runs calls of the plan at the same time.
    """

    plan: Plan
    function: Function
    order: list[int]
    results: int | None = None
    side_by_side: bool = False

    def called(self) -> Function:
        """The function, with the saved values as its last result."""
        return self.function if self.results is None else _saving(self.function, self.results)

    def again(self, make: Callable[[Plan], Function]) -> Part:
        """The part with its plan run as `make` says."""
        return replace(self, function=make(self.plan), side_by_side=False)


def _saving(function: Function, count: int) -> Function:
    def saving(*values: Any) -> tuple[Any, ...]:
        made = function(*values)
        return (*made[:count], TensorList(made[count:]))

    return saving


class Held:
    """The implementation of an operation with graphs.

    Args:
        node: The operation.
        parts: The graphs.
    """

    def __init__(self, node: Operation, parts: Sequence[Part]) -> None:
        self.node = node
        self.parts = list(parts)
        self._functions = [part.called() for part in self.parts]

    def __call__(self, run: Run, *values: Any) -> tuple[Any, ...]:
        """Runs it on the inputs of the operation."""
        raise NotImplementedError

    def again(self, make: Callable[[Plan], Function], copying: Callable[[Move], Move]) -> Self:
        """The same with its plans run as `make` says, and what it copies copied as `copying` says."""
        return self.with_parts([part.again(make) for part in self.parts])

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """The same with other functions for its graphs."""
        made = copy.copy(self)
        made.parts = list(parts)
        made._functions = [part.called() for part in parts]
        return made

    @property
    def bodies(self) -> Sequence[Part]:
        """The graphs that do its work."""
        return self.parts


class Branch(Held):
    """One of two graphs, chosen by a boolean scalar."""

    def __call__(self, run: Run, *values: Any) -> tuple[Any, ...]:
        """The results of the chosen graph."""
        number = 0 if truth(values[0], self.node) else 1
        return self._functions[number](run, *[values[1 + place] for place in self.parts[number].order])


class FunctionCall(Held):
    """A call of a graph. If the graph draws random numbers, each calling operation draws its own."""

    def __init__(self, node: Operation, parts: Sequence[Part]) -> None:
        super().__init__(node, parts)
        self.draws = any(DRAWS in inner.op_def.traits for inner in operations_in(node))

    def __call__(self, run: Run, *values: Any) -> tuple[Any, ...]:
        """The results of the graph."""
        if self.draws:
            run = run.inside(self.node)
        return self._functions[0](run, *self.arguments_of(values))

    def arguments_of(self, given: Sequence[T]) -> list[T]:
        """The arguments of the graph, from the inputs of the operation."""
        count = len(self.node.args[0])
        return [*given[:count], *(given[count + place] for place in self.parts[0].order)]


class Loop(Held):
    """A graph that is run while another one returns true.

    Args:
        node: The operation.
        parts: The test and the step.
        moves: How each loop variable gets to where the results of the loop are; None where it is there.
        saves: Whether the step returns one value more, to be saved of every iteration.
        sums: Which of the loop variables the step adds to in place: see `runtime.passes.accumulate`.
    """

    def __init__(
        self,
        node: Operation,
        parts: Sequence[Part],
        moves: Sequence[Move | None] = (),
        saves: bool = False,
        sums: Sequence[int] = (),
    ) -> None:
        super().__init__(node, parts)
        self.moves = list(moves)
        self.saves = saves
        self.sums = sums

    def __call__(self, run: Run, *values: Any) -> tuple[Any, ...]:
        """The final values of the loop variables, and the saved values."""
        count = len(self.node.args[0])
        state, rest = values[:count], values[count:]
        del values
        if self.sums:
            state = own(state, self.sums)
        test, step = self._functions
        history: list[Any] = []
        for_test, for_step = ([rest[place] for place in part.order] for part in self.parts)
        node, saves, check = self.node, self.saves, run.check
        while truth(test(run, *state, *for_test)[0], node):
            check()
            state = step(run, *state, *for_step)
            if saves:
                history.append(state[-1])
                state = state[:-1]
        if any(self.moves):
            state = tuple([v if move is None else move(v) for move, v in zip(self.moves, state, strict=True)])
        return (*state, TensorList(history)) if self.saves else state

    def again(self, make: Callable[[Plan], Function], copying: Callable[[Move], Move]) -> Self:
        """The same with its plans run as `make` says, and what it copies copied as `copying` says."""
        made = super().again(make, copying)
        made.moves = [None if move is None else copying(move) for move in self.moves]
        return made

    @property
    def bodies(self) -> Sequence[Part]:
        """The step: the test is a comparison of scalars."""
        return self.parts[1:]


def truth(value: object, node: Operation) -> bool:
    """The boolean value of a scalar.

    Raises:
        InvalidArgumentError: it is not a scalar.
    """
    if type(value) is torch.Tensor and value.numel() == 1:
        return bool(value)
    array = to_numpy_value(value)
    if array.size != 1:
        raise InvalidArgumentError(
            f"The predicate of {node.type} '{node.name}' must be a scalar, got shape {list(array.shape)}."
        )
    return bool(array.item())
