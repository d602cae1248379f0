"""What is known about values before they exist: shapes, layouts, and their future memory.

An *abstract value* stands for a value, a *block* for a block of one device's memory. Values that share a block are
views of each other. The cell of a variable is a *box*, whose content changes with an assignment.

    fed        AbstractValue [128,784]    Block a, on the host
    copied     AbstractValue [128,784]    Block b, on GPU:0, 401,408 bytes
    reshaped   AbstractValue [100352]     Block b

A value whose size depends on elements has no block, and is recorded as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType, string
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import Origin
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.abstract.kernels import is_known, meta_like, meta_tensor
from situs._src.runtime.eager.bridge import FROM_TORCH, TORCH_DTYPE
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.torch_private import storage_key
from situs._src.runtime.plan.plan import Literal

Constants = Mapping[tuple[Operation, Device], Literal]


@dataclass(eq=False)
class Block:
    """A block of memory: its device, its size, and what allocated it."""

    device: Device
    size: int
    name: str
    op: str
    made_at: Origin = ()
    is_there: bool = False  # it exists before the run


@dataclass(eq=False)
class Box:
    """The cell of a variable: its current content, if any."""

    name: str
    device: Device
    shape: TensorShape
    dtype: DType
    made_at: Origin = ()
    content: AbstractValue | None = None
    first: Block | None = None  # its content before the run


@dataclass(eq=False)
class AbstractValue:
    """What is known about a value: its shape, its layout, and its memory."""

    shape: TensorShape
    dtype: DType
    value: torch.Tensor | None = None  # a meta tensor; None if not everything is known, and for strings
    block: Block | None = None
    box: Box | None = None  # the value is the cell of a variable
    items: tuple[AbstractValue, ...] = ()  # the value is a list of these

    @property
    def size(self) -> int:
        """The bytes of its memory, as far as known."""
        return 0 if self.block is None else self.block.size

    def blocks(self) -> list[Block]:
        """All memory that it keeps alive."""
        own = [] if self.block is None else [self.block]
        return own + [block for item in self.items for block in item.blocks()]

    @property
    def is_resource(self) -> bool:
        """Whether it is not numeric: a queue, a list of rows, strings."""
        return self.dtype not in TORCH_DTYPE

    def without_elements(self) -> AbstractValue:
        """The same without known elements."""
        if self.value is None or not is_known(self.value):
            return self
        return AbstractValue(self.shape, self.dtype, meta_tensor(self.shape, self.value.dtype), self.block)


def in_box(box: Box) -> AbstractValue:
    """The cell of a variable, as a value."""
    return AbstractValue(box.shape, box.dtype, box=box)


@dataclass(frozen=True)
class Fed:
    """What is known about a feed; `value` is given if it is small, and shapes depend on it."""

    tensor: SymbolicTensor
    device: Device
    shape: TensorShape
    value: torch.Tensor | None = None


class AbstractValues:
    """The blocks and boxes of one forecast, and what stays unknown.

    Args:
        constants: The constants on devices.
        find: The cell of a variable of the session, by name; None if there is none yet.
    """

    def __init__(self, constants: Constants, find: Callable[[str], Cell | None]) -> None:
        self.unknown: dict[tuple[Device, str], None] = {}  # what is not counted, by device
        self.boxes: dict[Any, Box] = {}  # by cell, or by name before there is one
        self.constants: list[Block] = []
        self._find = find
        self._blocks: dict[int, tuple[Block, Any]] = {}  # by storage, with what keeps it alive
        self._literals: dict[int, AbstractValue] = {}
        for (node, device), literal in constants.items():
            self._add_constant(literal, device, node.name, node.made_at)

    # Values.

    def made(self, value: torch.Tensor, device: Device, name: str, op: str, made_at: Origin) -> AbstractValue:
        """The result of a call on a device: in memory of its own, or in that of another value there."""
        storage = value.untyped_storage()
        found = self._blocks.get(storage_key(storage))
        if found is None or found[0].device is not device:
            return self.inside(value, Block(device, storage.nbytes(), name, op, made_at))
        return self.inside(value, found[0])

    def inside(self, value: torch.Tensor, block: Block) -> AbstractValue:
        """A value in a block."""
        self._blocks[storage_key(value.untyped_storage())] = block, value
        return AbstractValue(TensorShape(value.shape), FROM_TORCH[value.dtype], value, block)

    def unsized(self, shape: TensorShape, dtype: DType, device: Device, what: str) -> AbstractValue:
        """A value with unknown size. Strings and resources are on the host, and not counted."""
        if dtype in TORCH_DTYPE:
            self.unknown[device, what] = None
        return AbstractValue(shape, dtype)

    def came(self, fed: Fed) -> AbstractValue:
        """An input; for a variable, it is a cell."""
        tensor, device = fed.tensor, fed.device
        if fed.value is None and (not fed.shape.is_fully_defined() or tensor.dtype not in TORCH_DTYPE):
            made = self.unsized(fed.shape, tensor.dtype, device, f"the size of '{tensor.name}', which is fed")
        else:
            value = meta_tensor(fed.shape, TORCH_DTYPE[tensor.dtype]) if fed.value is None else fed.value
            made = self.made(value, device, tensor.op.name, tensor.op.type, tensor.op.made_at)
        if not tensor.is_ref:
            return made
        return in_box(Box(tensor.op.name, device, tensor.shape, tensor.dtype, tensor.op.made_at, made, made.block))

    # Constants.

    def literal(self, literal: Literal, device: Device) -> AbstractValue:
        """A constant; if the plan has no record of it, it is on the device where it is used."""
        if id(literal) not in self._literals:
            self._add_constant(literal, device)
        return self._literals.get(id(literal)) or AbstractValue(TensorShape(literal.value.shape), string)

    def _add_constant(self, literal: Literal, device: Device, name: str = "", made_at: Origin = ()) -> None:
        if not isinstance(literal.value, torch.Tensor):
            return
        storage = literal.value.untyped_storage()
        if storage_key(storage) not in self._blocks:
            block = Block(device, storage.nbytes(), name, "Const", made_at, is_there=True)
            self._blocks[storage_key(storage)] = block, storage
            self.constants.append(block)
        self._literals[id(literal)] = self.inside(meta_like(literal.value), self._blocks[storage_key(storage)][0])

    # Variables.

    def box(self, node: Operation, device: Device) -> Box:
        """The cell behind a ``Variable``."""
        cell = node.attrs["cell"] or self._find(node.attrs["shared_name"])
        key = node.attrs["shared_name"] if cell is None else cell
        if key not in self.boxes:
            found = Box(node.name, device, node.attrs["shape"], node.types["dtype"], node.made_at)
            self.boxes[key] = found if cell is None else self._filled(cell, found)
        return self.boxes[key]

    def hold(self, cell: Cell) -> None:
        """Counts a cell that no call uses."""
        if cell not in self.boxes:
            self.boxes[cell] = self._filled(cell, Box(cell.name, cell.place.device, cell.shape, cell.dtype))

    def _filled(self, cell: Cell, box: Box) -> Box:
        if isinstance(cell.value, torch.Tensor):
            storage = cell.value.untyped_storage()
            if storage_key(storage) not in self._blocks:
                block = Block(cell.place.device, storage.nbytes(), box.name, "Variable", box.made_at, is_there=True)
                self._blocks[storage_key(storage)] = block, storage
            box.first = self._blocks[storage_key(storage)][0]
            box.content = self.inside(meta_like(cell.value), box.first)
        return box

    def content(self, box: Box) -> AbstractValue:
        """The content of a variable; if uninitialized, according to its shape."""
        if box.content is None and box.shape.is_fully_defined() and box.dtype in TORCH_DTYPE:
            value = meta_tensor(box.shape, TORCH_DTYPE[box.dtype])
            box.content = self.made(value, box.device, box.name, "Variable", box.made_at)
            box.first = box.content.block
        return box.content or self.unsized(box.shape, box.dtype, box.device, f"the size of variable '{box.name}'")
