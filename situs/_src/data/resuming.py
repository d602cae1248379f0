"""The position of an iteration in a serializable form, so that another one can resume from there.

    it = iter(dataset); next(it); next(it)
    tf.train.Checkpoint(iterator=it).save("run/ckpt")         {"taken": 2, "draws": [...], ...}
    tf.train.Checkpoint(iterator=iter(dataset)).restore(...)  gives the third element next

Elements are not saved: the new iteration starts with the seeds of the saved one, including generated ones, and skips as
many elements as were taken. So everything that determines an element must be in the dataset: a pipeline with stateful
functions, or a Python generator, is an error.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from situs._src.base.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.streams import COUNTERS
from situs._src.checkpoints.strict_json import loads
from situs._src.data.cursor import Cursor
from situs._src.data.function import ElementFunction
from situs._src.data.generator import Generator
from situs._src.data.mapping import Map
from situs._src.data.node import Binding, Memory, Node, stages_of
from situs._src.data.options import ExternalStatePolicy, options_of
from situs._src.runtime.run.state import State

_LARGEST = 2**63


class Position(NamedTuple):
    """Where an iteration is.

    Attributes:
        taken: How many elements were taken.
        failed: Whether one of them was an error.
        stages: What the dataset is made of, by name.
        draws: For each of these the number of its next iteration, and the seeds of those that have begun.
    """

    taken: int
    failed: bool
    stages: list[str]
    draws: list[tuple[int, list[int]]]

    def to_bytes(self) -> bytes:
        """The position as it is saved: JSON."""
        return json.dumps(self._asdict(), separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(content: Any) -> Position:
        """The position that was saved.

        Raises:
            DataLossError: this is not one.
        """
        try:
            found = loads(content)
            draws = [(_natural(epoch), [_natural(seed, COUNTERS) for seed in seeds]) for epoch, seeds in found["draws"]]
            stages = [str(stage) for stage in found["stages"]]
            return Position(_natural(found["taken"]), bool(found["failed"]), stages, draws)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataLossError(f"The saved position of an iterator is not what Situs writes: {shown(error)}") from None


def _natural(number: object, limit: int = _LARGEST) -> int:
    if type(number) is not int or not 0 <= number < limit:
        raise ValueError(f"{shown(number)} is no number that it could have")
    return number


def position_of(cursor: Cursor, node: Node, policy: object = None) -> Position:
    """Where an iteration is.

    Args:
        cursor: The iteration.
        node: The dataset.
        policy: What to do if its elements depend on more than the dataset: an ``ExternalStatePolicy``.

    Raises:
        FailedPreconditionError: it could not be brought back there.
    """
    check_repeatable(node, policy)
    stages = stages_of(node)
    with cursor.standing() as (taken, failed, draws, memories):
        if draws.lost is not None:
            raise FailedPreconditionError(
                f"{draws.lost} inside of a function of the dataset draws at random without a seed: the position of "
                "this iterator cannot be saved. Give it a seed."
            )
        drawn = [draws.of(stage, _epochs(stage, memories)) for stage in stages]
        return Position(taken, failed, [stage.title for stage in stages], drawn)


def _epochs(stage: Node, memories: dict[int, Memory]) -> int:
    memory = stage.memory or memories.get(id(stage))
    return 0 if memory is None else memory.epochs


def go_to(cursor: Cursor, node: Node, position: Position, state: State | None = None) -> None:
    """Makes an iteration go on from a position, which `check_fits` has found to fit.

    Args:
        cursor: The iteration; it keeps the values of the tensors that it depends on.
        node: The dataset.
        position: The position.
        state: The state of the session; None in eager code.
    """
    stages = stages_of(node)
    planned = {id(stage): deque(seeds) for stage, (_, seeds) in zip(stages, position.draws, strict=True)}
    binding = Binding(cursor.values, state, planned=planned)
    for stage, (epoch, _) in zip(stages, position.draws, strict=True):
        binding.memory(stage).go_to_epoch(epoch)
    cursor.resume(node, binding, position.taken, position.failed)


def check_fits(node: Node, position: Position) -> None:
    """Raises unless a position is one in this dataset.

    Raises:
        InvalidArgumentError: it was saved of a dataset that was made in another way.
        FailedPreconditionError: the dataset has no positions.
    """
    check_repeatable(node)
    stages = [stage.title for stage in stages_of(node)]
    if stages != position.stages or len(stages) != len(position.draws):
        raise InvalidArgumentError(
            f"The iterator was saved of another dataset: one of {' <- '.join(position.stages)}; this one is of "
            f"{' <- '.join(stages)}."
        )


# What can be done again.


def check_repeatable(node: Node, policy: object = None) -> None:
    """Raises unless the elements of a dataset depend on nothing else, or the program says that it does not matter.

    Raises:
        FailedPreconditionError: they do.
    """
    options = options_of(node)
    keeps_order = options.keeps_order
    asked = getattr(options, "experimental_external_state_policy", None) if policy is None else policy
    if asked in (ExternalStatePolicy.WARN, ExternalStatePolicy.IGNORE):
        return
    for stage in with_functions(node):
        reason = _state_of(stage, keeps_order)
        if reason is not None:
            raise FailedPreconditionError(
                f"{reason} The position of this iterator cannot be saved or restored: its elements depend on more "
                "than the dataset. Leave the iterator out of the checkpoint, or make such elements outside of the "
                "dataset."
            )


def with_functions(node: Node) -> Iterator[Node]:
    """The stages of a dataset, and those of the datasets that its functions return."""
    pending, seen = [node], set()
    while pending:
        stage = pending.pop()
        if id(stage) in seen:
            continue
        seen.add(id(stage))
        yield stage
        pending += stage.inputs
        pending += [made for function in functions_of(stage) for made in function.returned]


def functions_of(stage: Node) -> list[ElementFunction]:
    """The functions of the program's that a stage calls."""
    return [value for value in vars(stage).values() if isinstance(value, ElementFunction)]


def _state_of(stage: Node, keeps_order: bool) -> str | None:
    """Why a stage would not do the same again; None if it would."""
    if isinstance(stage, Generator):
        return "EagerPyFunc is stateful: Dataset.from_generator() takes elements from Python."
    for function in functions_of(stage):
        found = function.stateful_op()
        if found is not None:
            return f"{found} is stateful: it is in a function of Dataset.{stage.title.lower()}()."
    if isinstance(stage, Map) and not stage.keeps_order(keeps_order):
        return "ParallelMap is not deterministic: elements come in another order each time."
    return None
