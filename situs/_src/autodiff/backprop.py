"""Backpropagation: from the gradients of results to those of what they were computed from.

    records   x --Mul--> y --Sum--> z          newest last
    grads     {z: 1}  ->  {y: ones}  ->  {x: 2 x}

The same for tapes, whose records have eager tensors, and for graphs, whose operations are converted to records. Each
record is visited once, newest first; by then all uses of its results have been visited, so their gradients are
complete. Records that are not on a path from a wanted key to a result are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from situs._src.base.devices.inventory import process
from situs._src.base.devices.scope import ROOT, Scope, device, enter, here
from situs._src.base.dtype import variant
from situs._src.base.errors import NotFoundError, show_as
from situs._src.base.tensor import Tensor, read
from situs._src.ops.cumulative import add_n
from situs._src.ops.join import concat
from situs._src.ops.math import add
from situs._src.ops.slices import IndexedSlices
from situs._src.ops.tensor_list import add_all
from situs._src.runtime.eager.tape import Keys, Record
from situs._src.runtime.eager.tensor import EagerTensor

Grads = dict[int, Any]
Pending = dict[int, list[Any]]  # the gradients accumulated for a key so far
Beside = Callable[[int], AbstractContextManager[Any]]
Call = Callable[[Record, Sequence[Any], set[int], Pending], None]


class NoGradientError(NotFoundError):
    """An op on the path has no gradient."""


show_as(NoGradientError, LookupError)


def backward(
    records: Sequence[Record],
    grads: Grads,
    wanted: Iterable[int],
    call: Call,
    around: Scope | None = None,
    beside: Beside | None = None,
) -> Grads:
    """The gradients of the wanted keys.

    Args:
        records: The computation, newest last.
        grads: The gradients of the results, by key.
        wanted: The keys to differentiate with respect to.
        call: Calls the gradient rule of a record with the gradients of its results, and adds the gradients of keys that
        are
            on the path to the pending ones.
        around: The device scope under which gradients are summed, where `call` changes it.
        beside: Returns a context in which the gradients of a key are summed, if they belong next to its producer.
    """
    wanted = set(wanted)
    on_the_way = set(wanted)
    path = _path(records, on_the_way)
    pending: Pending = {key: [grad] for key, grad in grads.items()}
    for record in reversed(path):
        given = [_taken(key, pending, wanted, around, beside) for key in record.outputs]
        if given[0] is not None or any(grad is not None for grad in given):
            call(record, given, on_the_way, pending)
    return {key: _total(key, pending[key], around, beside) for key in wanted if key in pending}


def _taken(key: int, pending: Pending, wanted: set[int], around: Scope | None, beside: Beside | None) -> Any:
    """The total gradient of a key; it is complete."""
    grads = pending.get(key) if key in wanted else pending.pop(key, None)
    return None if grads is None else grads[0] if len(grads) == 1 else _total(key, grads, around, beside)


def _path(records: Sequence[Record], reached: set[int]) -> list[Record]:
    """The records that depend on some keys; the keys of their results are added to these."""
    path = []
    for record in records:
        if _any_in(record.inputs, reached) and not getattr(record.rule, "stops", False):
            reached.update(record.outputs)
            path.append(record)
    return path


def _any_in(keys: Keys, among: set[int]) -> bool:
    for key in keys:  # noqa: SIM110 -- any() would cost every record half a microsecond
        if key in among or (type(key) is tuple and _any_in(key, among)):
            return True
    return False


def _total(key: int, grads: list[Any], around: Scope | None, beside: Beside | None) -> Any:
    """The sum of the gradients; stored in the list, so that it is computed once."""
    if len(grads) > 1:
        before = here.scope if around is None else enter(around)
        try:
            with nullcontext() if beside is None else beside(key):
                grads[:] = [_sum(grads, placed=beside is not None)]
        finally:
            enter(before)
    return grads[0]


def _sum(grads: list[Any], placed: bool) -> Any:
    if all(isinstance(grad, IndexedSlices) for grad in grads):
        values, indices = concat([g.values for g in grads], 0), concat([g.indices for g in grads], 0)
        return IndexedSlices(values, indices, grads[0].dense_shape)
    dense = [read(grad) for grad in grads]
    if dense[0].dtype is variant:
        return add_all(dense)
    if placed:
        dense = _by_device(dense)
    if len(dense) == 1:
        return dense[0]
    with nullcontext() if placed else _where(dense[0]):
        return add(*dense) if len(dense) == 2 and not placed else add_n(dense)


def _by_device(grads: list[Any]) -> list[Any]:
    """The sums of the gradients per device, that of the first use first: only these sums are transferred."""
    groups: dict[str, list[Any]] = {}
    for grad in grads:
        groups.setdefault(grad.device, []).append(grad)
    sums = []
    for name in sorted(groups):
        *others, first = groups[name]  # the last use comes first in the backward pass
        with first.graph.colocate_with(first.op, ignore_existing=True):
            sums.append(add_n([first, *reversed(others)]) if others else first)
    return sums


def _where(grad: Any) -> device | nullcontext[None]:
    """The device of a gradient, as a scope; None if ops go there anyway, or the program requests one."""
    if here.scope is not ROOT or not grad.device or grad.device == process.devices()[0].name:
        return nullcontext()
    return device(grad.device)


def call_rule(record: Record, grads: Sequence[Any], on_the_way: set[int], pending: Pending) -> None:
    """Adds the gradients of a record's inputs, by its rule, to the pending ones.

    Raises:
        LookupError: its op has no rule.
    """
    rule = record.rule
    if rule is None:
        raise NoGradientError(
            f"No gradient defined for operation '{record.name}' (op type: {record.op.name}). Compute the gradient of "
            "something else, or put tf.stop_gradient around its inputs."
        )
    if not (type(grads[0]) is EagerTensor and len(grads) == 1) and not getattr(rule, "takes_slices", False):
        grads = [_dense(grad) for grad in grads]
    plain = getattr(rule, "is_plain", False)
    made = rule.function(grads[0], *record.kept) if plain else rule(grads, record.kept, record.attrs)
    _add(record.inputs, made, on_the_way, pending)


def _dense(grad: Any) -> Tensor | None:
    return None if grad is None else read(grad)


def _add(keys: Keys, grads: Sequence[Any], on_the_way: set[int], pending: Pending) -> None:
    """Adds the gradients that are needed, computed now: their ops must run under the rule's scope."""
    for key, grad in zip(keys, grads, strict=True):
        if grad is None:
            continue
        if key in on_the_way:
            made = grad if type(grad) is EagerTensor or not callable(grad) else grad()
            if made is not None:
                assert type(key) is int
                pending.setdefault(key, []).append(made)
        elif type(key) is tuple and _any_in(key, on_the_way):
            _add(key, (grad() if callable(grad) else grad) or (None,) * len(key), on_the_way, pending)


def backward_eagerly(records: Sequence[Record], grads: Grads, wanted: Iterable[int]) -> Grads:
    """The gradients of the wanted keys, each rule under the device scope of its op."""
    around = here.scope

    def call(record: Record, given: Sequence[Any], on_the_way: set[int], pending: Pending) -> None:
        if record.scope is not here.scope:
            enter(record.scope)  # kept for the next record, which usually has the same
        call_rule(record, given, on_the_way, pending)

    try:
        return backward(records, grads, wanted, call, around)
    finally:
        enter(around)
