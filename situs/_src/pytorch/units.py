"""The parts of a module that are placed, and what has to stay together.

A *unit* is a module that goes to one device as a whole, or a parameter that a larger module holds itself. From the top
down, a module is one unit if

    it is of a class that must not be split (``_no_split_modules``), or has no parts of its own
    its own ``forward`` joins what it was given with what its parts make:     x + self.attention(x)

The second is why models break at a device boundary: the two summands would be on different devices. The inputs of a
unit are moved to its device, so there it is safe. If a module's own ``forward`` combines the results of *several* of
its parts, these parts are tied together; so are parts that share a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from situs._src.pytorch.trace import Trace, TracedOp


@dataclass(frozen=True)
class Units:
    """The parts of a module.

    Attributes:
        sizes: Bytes of the parameters and buffers of each, by name, in the order in which they are defined; what is
            shared counts where it comes first.
        tensors: How many parameters and buffers these are.
        group: For each unit the one that stands for those it must stay with.
        of_op: For each op of the trace the unit that runs it.
    """

    sizes: Mapping[str, int]
    tensors: Mapping[str, int]
    group: Mapping[str, str]
    of_op: list[str]


def find_units(module: torch.nn.Module, found: Trace, no_split: Iterable[str] = ()) -> Units:
    """Divides a module into units.

    Args:
        module: The module.
        found: A run of it.
        no_split: Names of classes that must not be split, besides those that its parts name.
    """
    return _Division(module, found, frozenset(no_split) | _named_by(module)).made()


def _named_by(module: torch.nn.Module) -> frozenset[str]:
    """The classes that a model of transformers says must not be split."""
    names: set[str] = set()
    for part in module.modules():
        names.update(getattr(part, "_no_split_modules", None) or ())
    return frozenset(names)


class _Division:
    def __init__(self, module: torch.nn.Module, found: Trace, no_split: frozenset[str]) -> None:
        self.module = module
        self.found = found
        self.no_split = no_split
        self.maker: dict[int, str] = {}  # the part whose forward made a tensor
        for op in found.ops:
            for number in op.outputs:
                self.maker.setdefault(found.root[number], op.part)
        self.joins = {name: self._joins(name) for name in {op.part for op in found.ops}}

    def made(self) -> Units:
        names = list(self._below("", self.module))
        unit_of = _Lookup(names)
        sizes, tensors, owner = self._sizes(names, unit_of)
        groups = _Groups(names)
        for shared in owner.values():
            groups.tie(shared)
        of_op: list[str] = []
        made_in: dict[int, str] = {}
        for op in self.found.ops:
            unit = unit_of.unit(op.part)
            makers = list(dict.fromkeys(made_in[r] for r in self._roots(op) if r in made_in))
            owners = [unit_of.unit(name) for r in self._roots(op) for name in self.found.parameters.get(r, ())[:1]]
            if unit is None:  # in the forward of something larger: it runs where what it takes is
                groups.tie([*makers, *(each for each in owners if each is not None)])
                unit = next(iter(makers), None) or next((each for each in owners if each), None) or names[0]
            of_op.append(unit)
            for number in op.outputs:
                made_in[self.found.root[number]] = unit
        return Units(sizes, tensors, {name: groups.find(name) for name in names}, of_op)

    def _below(self, name: str, part: torch.nn.Module) -> Iterator[str]:
        """The units of a part, in the order in which they are defined."""
        children = list(part.named_children())
        if name and (not children or type(part).__name__ in self.no_split or self.joins.get(name)):
            yield name
            return
        own = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
        for each, _ in own:
            yield f"{name}.{each}" if name else each
        for child_name, child in children:
            yield from self._below(f"{name}.{child_name}" if name else child_name, child)
        if not children and not own and not name:
            yield name

    def _joins(self, name: str) -> bool:
        """Whether the forward of a part joins what came from outside of it with what its own parts make."""
        inside = f"{name}." if name else ""
        for op in self.found.ops:
            if op.part != name:
                continue
            makers = [self.maker.get(root) for root in self._roots(op) if root not in self.found.parameters]
            within = [maker for maker in makers if maker is not None and (maker == name or maker.startswith(inside))]
            if within and len(within) < len(makers):
                return True
        return False

    def _roots(self, op: TracedOp) -> list[int]:
        return list(dict.fromkeys(self.found.root[number] for number in op.inputs))

    def _sizes(self, names: list[str], unit_of: _Lookup) -> tuple[dict[str, int], dict[str, int], dict[int, list[str]]]:
        """Bytes and numbers of the parameters of units, and for each parameter the units that have it."""
        sizes, tensors = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        owner: dict[int, list[str]] = {}
        for number, aliases in self.found.parameters.items():
            units = [unit for alias in aliases if (unit := unit_of.unit(alias)) is not None]
            owner[number] = list(dict.fromkeys(units))
            sizes[units[0]] += self.found.sizes[number]
            tensors[units[0]] += 1
        return sizes, tensors, owner


class _Lookup:
    """From the name of a part or a parameter to the unit that it is in."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def unit(self, name: str) -> str | None:
        while name not in self._names:
            if "." not in name:
                return "" if "" in self._names else None
            name = name.rpartition(".")[0]
        return name


class _Groups:
    """Units that must stay together, as a union-find structure; the one that was defined first stands for all."""

    def __init__(self, names: list[str]) -> None:
        self._above = {name: name for name in names}
        self._order = {name: number for number, name in enumerate(names)}

    def find(self, name: str) -> str:
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name

    def tie(self, names: Iterable[str]) -> None:
        roots = sorted({self.find(name) for name in names}, key=self._order.__getitem__)
        for other in roots[1:]:
            self._above[other] = roots[0]
