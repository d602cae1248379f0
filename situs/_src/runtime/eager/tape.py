"""Recording ops as they run, for their gradients.

While a tape of this thread records, no op takes the fast path (`base.devices.scope`): `run` runs it, and adds a
`Record` to every tape that watches one of its inputs. A tape identifies tensors by *keys*; the tensors it watches, and
those computed from them, are the keys in ``tape.keys``.

    x, watched: key 1        y = x * x       Record(Mul, inputs (1, 1), outputs (2,), kept (x, x))

A record keeps the residuals that the gradient rule of its op needs, and no other tensor. `autodiff` goes through the
records backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from situs._src.base.devices.scope import Scope, here
from situs._src.base.dtype import DType
from situs._src.ir.registry.gradient import INPUT, SHAPE, GradientRule
from situs._src.ir.registry.op import Op
from situs._src.runtime.eager.binding import bind
from situs._src.runtime.eager.execute import execute, note, recall, run_step
from situs._src.runtime.eager.tensor import EagerTensor

Keys = tuple["int | Keys | None", ...]  # nested where an input is a list
_next_key = count(1)


class Record:
    """One op that ran: how to differentiate it."""

    __slots__ = ("attrs", "inputs", "kept", "op", "outputs", "rule", "scope")

    def __init__(
        self, op: Op, inputs: Keys, outputs: Sequence[int], kept: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> None:
        self.op = op
        self.rule = op.gradient_rule  # its gradient rule
        self.inputs = inputs  # a key for each tensor input, None if it is not watched
        self.outputs = outputs
        self.kept = kept
        self.attrs = attrs
        self.scope: Scope = here.scope  # the scope of the op, and of its gradient

    @property
    def name(self) -> str:
        """Its name in errors."""
        return self.op.name


class Tape:
    """The records, in order."""

    __slots__ = ("keys", "persistent", "records", "sees_variables", "variables")

    def __init__(self, sees_variables: bool = True, persistent: bool = False) -> None:
        self.records: list[Record] = []
        self.keys: set[int] = set()
        self.persistent = persistent  # whether it may record its own gradient computations
        self.sees_variables = sees_variables  # whether trainable variables are watched when they are read
        self.variables: dict[int, Any] = {}

    def watch(self, tensor: EagerTensor) -> None:
        """Records from now on what is computed from a tensor."""
        self.keys.add(key_of(tensor))


def key_of(tensor: EagerTensor) -> int:
    """The key of a tensor, assigned now if it has none."""
    found: int | None = getattr(tensor, "_key", None)
    if found is None:
        found = tensor._key = next(_next_key)
    return found


def new_key() -> int:
    """A key for something other than a tensor: a variable."""
    return next(_next_key)


def read_variable(tensor: EagerTensor, key: int, variable: Any) -> None:
    """Records that a tensor is the value of a variable; tapes that watch variables watch it now."""
    tensor._key = key
    for tape in here.tapes:
        if variable.trainable and tape.sees_variables:
            tape.keys.add(key)
            tape.variables[key] = variable


def run(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
    """Runs an op in eager code and records it; variables among its inputs have been read."""
    if not _are_tensors(op, inputs):
        inputs = bind(op, inputs, op.complete_attrs(attrs)).inputs
    found = recall(op, inputs, attrs, here.scope.memo)
    made = execute(op, inputs, attrs, name) if found is None else run_step(*found, inputs, attrs)
    rule = op.gradient_rule
    if rule.stops if rule is not None else not _is_differentiable(made):
        return made
    keys = tuple(
        [
            tuple([getattr(tensor, "_key", None) for tensor in item]) if arg.is_list else getattr(item, "_key", None)
            for arg, item in zip(op.signature.inputs, inputs, strict=True)
            if not arg.is_host
        ]
    )
    for tape in here.tapes:
        if _touches(keys, tape.keys):
            _record(tape, op, rule, inputs, attrs, keys, made)
    return made


def run_plain(op: Op, inputs: tuple[EagerTensor, ...], name: str | None) -> Any:
    """The same for an op of tensors with one result and no attributes, with a cached step if there is one."""
    step = here.scope.memo.get((op, *[tensor._place for tensor in inputs]))
    if step is None:
        return run(op, inputs, {}, name)
    try:
        value = step.run(*[tensor._value for tensor in inputs])
    except Exception as error:
        raise step.failure(error, inputs, {}) from None
    if step.varies and getattr(value, "dtype", None) is not step.dtype:
        step.verify(value)
    note(step.assignment)
    made = EagerTensor()
    made._value, made._place, made._made_by = value, step.place, step.assignment
    keys = tuple([getattr(tensor, "_key", None) for tensor in inputs])
    for tape in here.tapes:
        if not tape.keys.isdisjoint(keys):
            _record_plain(tape, op, inputs, keys, made)
    return made


def _record_plain(tape: Tape, op: Op, inputs: tuple[EagerTensor, ...], keys: Keys, made: EagerTensor) -> None:
    rule, smooth = op.gradient_rule, made._place.dtype.kind in "fcv"
    if rule.stops if rule is not None else not smooth:
        return
    key = key_of(made)
    if smooth:
        tape.keys.add(key)
    tape.records.append(Record(op, keys, (key,), () if rule is None else rule.keep(inputs, (made,)), op.attrs))


def _are_tensors(op: Op, inputs: tuple[Any, ...]) -> bool:
    pairs = zip(op.signature.inputs, inputs, strict=False)
    return all(arg.is_host or _is_tensor(item, arg.is_list) for arg, item in pairs)


def _is_tensor(item: Any, is_list: bool) -> bool:
    return all(type(tensor) is EagerTensor for tensor in item) if is_list else type(item) is EagerTensor


def _is_differentiable(made: Any) -> bool:
    return any(has_gradient(tensor.dtype) for tensor in (made if isinstance(made, list) else [made]))


def has_gradient(dtype: DType) -> bool:
    """Whether tensors of a dtype have gradients: floats and complex numbers do, and lists, which may have some."""
    return dtype.kind in "fcv"


def _touches(keys: Keys, watched: set[int]) -> bool:
    for key in keys:  # noqa: SIM110 -- any() would cost every op half a microsecond
        if key in watched or (type(key) is tuple and _touches(key, watched)):
            return True
    return False


def _record(
    tape: Tape,
    op: Op,
    rule: GradientRule | None,
    inputs: tuple[Any, ...],
    attrs: dict[str, Any],
    keys: Keys,
    made: Any,
) -> None:
    results = made if type(made) is list else [made]
    outputs = []
    for tensor in results:
        key = key_of(tensor)
        outputs.append(key)
        if tensor._place.dtype.kind in "fcv":
            tape.keys.add(key)
    kept = () if rule is None else tuple([_kept(need, inputs, results) for need in rule.needs])
    complete = {**op.attrs, **attrs} if rule is not None and rule.attrs else attrs
    tape.records.append(Record(op, keys, outputs, kept, complete))


def _kept(need: Any, inputs: tuple[Any, ...], results: Sequence[EagerTensor]) -> Any:
    kind, number = need
    if kind is INPUT:
        return inputs[number]
    if kind is SHAPE:
        tensor = inputs[number]
        return [t._value.shape for t in tensor] if type(tensor) is list else tensor._value.shape
    return results[number]
