"""Tracing a module on tensors without elements (PyTorch's ``meta`` device): nothing is computed or copied.

Each op that PyTorch dispatches is recorded with the submodule whose ``forward`` was running, with its inputs and
results, and with its arithmetic:

    transformer.h.0.attn.c_attn    addmm      parameters, x -> y      2 * 16 * 2304 * 768 steps
    transformer.h.0                add        y, x -> z               the residual, in the block's own forward

A module that reads elements (``.item()``, a mask that determines a shape) cannot be traced so; it is run once instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from situs._src.base.errors import ArgumentError
from situs._src.runtime.eager.torch_private import TorchDispatchMode, storage_key, tree_leaves, tree_map


@dataclass(frozen=True)
class TracedOp:
    """One op of a run.

    Attributes:
        part: The name of the module whose ``forward`` called it; empty for the whole.
        name: What PyTorch calls it.
        inputs: Numbers of the tensors that it takes.
        outputs: Numbers of the tensors that it makes.
        steps: Arithmetic.
        bytes: What it reads and writes.
        calls: Whether a kernel is called: not for a view.
    """

    part: str
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: float
    bytes: float
    calls: bool


@dataclass
class Trace:
    """A run: its ops in order, the sizes of its tensors, and which of them are parameters or came in."""

    ops: list[TracedOp] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    root: dict[int, int] = field(default_factory=dict)  # of a view, the tensor in whose memory it lies
    parameters: dict[int, tuple[str, ...]] = field(default_factory=dict)  # under all their names
    given: set[int] = field(default_factory=set)
    results: list[int] = field(default_factory=list)
    ran_for_real: bool = False


def trace(module: torch.nn.Module, inputs: Any) -> Trace:
    """Runs a module once and notes its ops.

    Args:
        module: The module, wherever its parameters are; it is not changed.
        inputs: What it is called with: a tensor, a tuple of arguments, or a dictionary of keywords.

    Raises:
        InvalidArgumentError: it cannot be called with that.
    """
    args, kwargs = _arguments(inputs)
    try:
        return _Tracer(module, "meta").run(args, kwargs)
    except (NotImplementedError, RuntimeError, ValueError, TypeError) as on_paper:
        try:
            found = _Tracer(module, None).run(args, kwargs)
        except Exception as error:
            raise ArgumentError(
                f"The module cannot be called with these example inputs: {type(error).__name__}: {error} (and not on "
                f"tensors without elements either: {on_paper})."
            ) from error
        found.ran_for_real = True
        return found


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})


class _Tracer(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every op of a run, and in which part of the module it is."""

    def __init__(self, module: torch.nn.Module, device: str | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.module = module
        self.device = device
        self.trace = Trace()
        self.stack = [""]
        self.numbers: dict[int, int] = {}  # by identity
        self.kept: list[torch.Tensor] = []  # so that no identity is taken again
        self.storages: dict[int, int] = {}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
        """Calls the module and returns what was seen."""
        replaced = self._parameters()
        moved = tree_map(self._given, (args, kwargs))
        with _followed(self.module, self.stack), torch.no_grad(), self:
            made = torch.func.functional_call(self.module, replaced, moved[0], moved[1], tie_weights=False)
        self.trace.results = [self._number(value) for value in _tensors(made)]
        return self.trace

    def _parameters(self) -> dict[str, torch.Tensor]:
        """Stand-ins for parameters and buffers by all their names; tied ones share one."""
        by_identity: dict[int, tuple[torch.Tensor, list[str]]] = {}
        found: dict[str, torch.Tensor] = {}
        named: list[tuple[str, torch.Tensor]] = [*self.module.named_parameters(remove_duplicate=False)]
        named += self.module.named_buffers(remove_duplicate=False)
        for name, value in named:
            if id(value) not in by_identity:
                by_identity[id(value)] = self._stand_in(value.detach()), []
            stand_in, names = by_identity[id(value)]
            names.append(name)
            found[name] = stand_in
        for stand_in, names in by_identity.values():
            self.trace.parameters[self._number(stand_in)] = tuple(names)
        return found

    def _stand_in(self, value: torch.Tensor) -> torch.Tensor:
        return value if self.device is None else torch.empty_like(value, device=self.device)

    def _given(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        made = self._stand_in(value)
        self.trace.given.add(self._number(made))
        return made

    def _number(self, value: torch.Tensor) -> int:
        found = self.numbers.get(id(value))
        if found is None:
            found = self.numbers[id(value)] = len(self.kept)
            self.kept.append(value)
            self.trace.sizes[found] = value.numel() * value.element_size()
            self.trace.root[found] = self.storages.setdefault(storage_key(value.untyped_storage()), found)
        return found

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Makes a call, and notes it."""
        made = func(*args, **(kwargs or {}))
        taken, given = _tensors((args, kwargs or {})), _tensors(made)
        inputs = tuple(dict.fromkeys(map(self._number, taken)))
        is_new = all(id(value) not in self.numbers for value in given)  # else it was written to
        outputs = tuple(dict.fromkeys(map(self._number, given)))
        is_view = bool(outputs) and is_new and all(self.trace.root[number] != number for number in outputs)
        sizes = self.trace.sizes
        count = flop_registry.get(func.overloadpacket)
        if is_view:
            steps = moved = 0.0
        else:
            moved = float(sum(sizes[n] for n in (*inputs, *outputs)))
            steps = float(count(*args, **(kwargs or {}), out_val=made)) if count else moved / 4
        op = TracedOp(self.stack[-1], str(func.overloadpacket), inputs, outputs, steps, moved, not is_view)
        self.trace.ops.append(op)
        return made


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@contextmanager
def _followed(module: torch.nn.Module, stack: list[str]) -> Iterator[None]:
    """Keeps, on a stack, the names of the parts whose ``forward`` runs."""
    handles = []

    def enter(name: str) -> Callable[..., None]:
        return lambda *_: stack.append(name)

    def leave(*_: object) -> None:
        stack.pop()

    for name, part in module.named_modules():
        handles.append(part.register_forward_pre_hook(enter(name)))
        handles.append(part.register_forward_hook(leave, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
