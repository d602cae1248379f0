"""Reading one ``NodeDef``: its inputs, their grouping, its attributes; and sorting many.

name: "Reshape"  input: "x"  input: "n"  attr { key: "_host:shape" value { s: "[-1, {\"input\": 1}]" } }

sources   Source("x", 0), Source("n", 0)
grouped   (x, (-1, n))                      as the op's signature has it: a tensor, and a host value
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from situs._src.base.devices.scope import device
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, NotFoundError, OpError
from situs._src.base.proto.graph import AttrValue, NodeDef
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.graph.attributes import read_attr
from situs._src.ir.graph.names import check_node_name
from situs._src.ir.graph.plain import inputs_in, loads
from situs._src.ir.graph.serialize import HOST, LENGTH
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.signature import Arg
from situs._src.runtime.symbolic.composed import find_composed
from situs._src.runtime.symbolic.older import older

GROUP = "IdentityN"  # the op of a node that stands for several others
CONTROL = -1  # the number of the result that a control input takes
Attrs = Mapping[str, AttrValue]


class Source(NamedTuple):
    """The referent of an input: a node, and the number of its result."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"^{self.name}" if self.number == CONTROL else f"{self.name}:{self.number}"


def parse_input(text: str) -> Source:
    """Reads ``a``, ``a:1`` or ``^a``.

    Raises:
        InvalidArgumentError: it is not a number.
    """
    if text.startswith("^"):
        return Source(text[1:], CONTROL)
    name, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise ArgumentError(
            f"Cannot convert '{text}' to a tensor name. Second component of the name following the `:` should be an "
            f"int. Got {number}."
        )
    return Source(name, int(number or 0))


# Many nodes.


def check_nodes(nodes: Sequence[NodeDef], sources: Sequence[Sequence[Source]], given: Container[Source]) -> None:
    """Raises unless the nodes have unique names, and inputs that exist.

    Raises:
        InvalidArgumentError: they have not.
    """
    names: set[str] = set()
    for node in nodes:
        name = node.name
        try:
            check_node_name(name)
        except InvalidArgumentError:
            raise ArgumentError(f"Node '{name}': Node name contains invalid characters") from None
        if node.name in names:
            raise ArgumentError(f"Node '{node.name}' is not unique")
        names.add(node.name)
    for node, wanted in zip(nodes, sources, strict=True):
        numbers = [source.number == CONTROL for source in wanted]
        if numbers != sorted(numbers):
            raise ArgumentError(f"Node '{node.name}': Control dependencies must come after regular dependencies")
        for source in wanted:
            if source not in given and source.name not in names:
                raise ArgumentError(f"Node '{node.name}': Unknown input node '{source.name}'")


def op_of(node: NodeDef) -> Op:
    """The op of a node.

    Raises:
        NotFoundError: there is none of that name.
    """
    name = name_of(node)
    try:
        return find_op(name)
    except NotFoundError as error:
        if find_composed(name) is not None:
            return find_op(GROUP)
        raise NotFoundError(f"Op type not registered '{node.op}', needed by node '{node.name}'. {error}") from None


def name_of(node: NodeDef) -> str:
    """What the op of a node is called here."""
    became = older(node.op, node.attr)
    return str(node.op) if became is None else became.name


def in_order(nodes: Sequence[NodeDef], sources: Sequence[Sequence[Source]], given: Container[Source]) -> list[int]:
    """The numbers of the nodes in topological order, otherwise in the given order.

    Raises:
        InvalidArgumentError: there is a cycle.
    """
    numbers = {node.name: number for number, node in enumerate(nodes)}
    needs = [{numbers[source.name] for source in wanted if source not in given} for wanted in sources]
    takers: list[list[int]] = [[] for _ in nodes]
    for number, needed in enumerate(needs):
        for other in needed:
            takers[other].append(number)
    waiting = [len(needed) for needed in needs]
    ready = [number for number, count in enumerate(waiting) if count == 0]
    order = list(_drained(ready, takers, waiting))
    if len(order) < len(nodes):
        raise ArgumentError(f"{len(nodes) - len(order)} nodes in a cycle")
    return order


def _drained(ready: list[int], takers: list[list[int]], waiting: list[int]) -> Iterator[int]:
    while ready:
        number = heapq.heappop(ready)
        yield number
        for taker in takers[number]:
            waiting[taker] -= 1
            if waiting[taker] == 0:
                heapq.heappush(ready, taker)


# The inputs of one node.


def grouped(op_def: Op, attrs: Attrs, tensors: Sequence[SymbolicTensor]) -> tuple[Any, ...]:
    """The inputs, grouped by the op's signature.

    Raises:
        InvalidArgumentError: there are too many or too few.
    """
    if len(tensors) == len(op_def.inputs) and takes_tensors(op_def):
        return tuple(tensors)
    hosts = {arg.name: attrs[HOST + arg.name].s for arg in op_def.inputs if HOST + arg.name in attrs}
    spoken_for = {number for text in hosts.values() for number in inputs_in(text)}
    rest = [tensor for number, tensor in enumerate(tensors) if number not in spoken_for]
    args: list[Any] = []
    for arg, length in zip(op_def.inputs, _lengths(op_def, attrs, hosts, len(rest)), strict=True):
        taken, rest = rest[:length], rest[length:]
        if arg.name in hosts:
            args.append(loads(hosts[arg.name], tensors))
        elif arg.is_list or len(taken) == 1:
            args.append(taken if arg.is_list else taken[0])
    if rest or len(args) != len(op_def.inputs):
        raise ArgumentError(
            f"NodeDef expected inputs '{', '.join(map(str, op_def.inputs))}' do not match {len(tensors)} inputs "
            f"specified; {spelled(op_def)}"
        )
    return tuple(args)


@functools.cache
def takes_tensors(op_def: Op) -> bool:
    """Whether each input of an op is a single tensor."""
    return not any(arg.is_list or arg.is_host for arg in op_def.inputs)


def _lengths(op_def: Op, attrs: Attrs, hosts: Container[str], count: int) -> list[int]:
    """The number of tensors of each input; a single list takes what the others leave."""
    singles = sum(not arg.is_list and arg.name not in hosts for arg in op_def.inputs)
    lists = [arg.name for arg in op_def.inputs if arg.is_list]
    found: list[int] = []
    for arg in op_def.inputs:
        if arg.is_list and len(lists) == 1:
            found.append(max(0, count - singles))
        elif arg.is_list:
            found.append(max(0, attr_of(op_def, attrs, LENGTH + arg.name).i))
        else:
            found.append(arg.name not in hosts)
    return found


def attr_of(op_def: Op, attrs: Attrs, name: str) -> AttrValue:
    """A required attribute of a node."""
    if name not in attrs:
        raise ArgumentError(f"NodeDef missing attr '{name}' from {spelled(op_def)}")
    return attrs[name]


def spelled(op_def: Op) -> str:
    """An op's name in TensorFlow's messages."""
    return f"Op<name={op_def.name}; signature={op_def.signature}>"


def check_types(name: str, op_def: Op, wanted_types: Sequence[DType | None], args: tuple[Any, ...]) -> None:
    """Raises unless the tensors have the dtypes of the node, which `wanted_types` reads from it.

    Raises:
        InvalidArgumentError: they have not.
    """
    number = 0
    for arg, wanted, value in zip(op_def.inputs, wanted_types, args, strict=True):
        for tensor in value if arg.is_list else (value,):
            if isinstance(tensor, SymbolicTensor) and wanted is not None and tensor.dtype is not wanted:
                raise ArgumentError(
                    f"Input {number} of node {name} was passed {tensor.dtype.proto_name} from {tensor.name} "
                    f"incompatible with expected {wanted.proto_name}."
                )
            number += 1


def wanted_types(op_def: Op, attrs: Attrs) -> list[DType | None]:
    """The dtypes that a node declares for its inputs; None where it does not."""
    return [_wanted(arg, attrs) for arg in op_def.inputs]


def _wanted(arg: Arg, attrs: Attrs) -> DType | None:
    if isinstance(arg.type, DType) or arg.is_host:
        return arg.type if isinstance(arg.type, DType) else None
    return _dtype(attrs[arg.type]) if arg.type in attrs else None


def _dtype(attr: AttrValue) -> DType:
    value = read_attr(attr)
    if not isinstance(value, DType):
        raise ArgumentError(f"A dtype was expected, got {value!r}.")
    return value


# Its attributes.


def check_constant(values: Mapping[str, Any]) -> None:
    """Raises unless a constant has a value of its declared dtype."""
    value = values.get("value")
    if value is None or not hasattr(value, "dtype"):
        raise ArgumentError("NodeDef missing attr 'value' from Op<name=Const>")
    if as_dtype(value.dtype) is not values["dtype"]:
        raise ArgumentError(
            f"A constant of dtype {values['dtype'].name} was expected, its value is {as_dtype(value.dtype).name}."
        )


def output_shapes(attrs: Attrs) -> tuple[TensorShape, ...] | None:
    """The shapes that the node declares for its results."""
    if "_output_shapes" not in attrs:
        return None
    shapes = read_attr(attrs["_output_shapes"])
    if not isinstance(shapes, tuple) or not all(isinstance(shape, TensorShape) for shape in shapes):
        raise ArgumentError("The attr '_output_shapes' is no list of shapes.")
    return shapes


def declared_results(op_def: Op, attrs: Attrs) -> list[tuple[Arg, DType, TensorShape]]:
    """The results of a node with graphs, for which there is no shape rule."""
    dtypes = read_attr(attr_of(op_def, attrs, "_output_types"))
    shapes = output_shapes(attrs) or (UNKNOWN,) * len(dtypes)
    several = len(op_def.outputs) == 1 and op_def.outputs[0].is_list
    declared = op_def.outputs * len(dtypes) if several else op_def.outputs
    if not (len(declared) == len(dtypes) == len(shapes)):
        raise ArgumentError(f"{len(dtypes)} dtypes and {len(shapes)} shapes for the results of {spelled(op_def)}")
    return list(zip(declared, dtypes, shapes, strict=True))


def functions_in(attr: AttrValue) -> list[str]:
    """The names of the functions that an attribute refers to."""
    if attr.WhichOneof("value") == "func":
        return [attr.func.name]
    return [item.name for item in attr.list.func] if attr.WhichOneof("value") == "list" else []


def colocations(node: NodeDef) -> list[str]:
    """The names of a node's colocation groups."""
    attr = node.attr.get("_class")
    texts = [] if attr is None else [item.decode(errors="replace") for item in attr.list.s]
    return [text.removeprefix("loc:@") for text in texts if text.startswith("loc:@")]


def companions(node: NodeDef, groups: Sequence[str]) -> list[str]:
    """The names of the other nodes that a node is colocated with."""
    return [name for name in groups if name != node.name] if groups else []


def requesting(node: NodeDef, groups: Sequence[str]) -> Any:
    """The device scope of a node: its own request, or none if it is colocated."""
    if companions(node, groups):
        return device(None)
    return device(node.device) if node.device else _ANYWHERE


_ANYWHERE: Any = nullcontext()


class At:
    """The node that is being read."""

    node: NodeDef


@contextmanager
def blamed() -> Iterator[At]:
    """A context that adds the node's name to errors."""
    at = At()
    try:
        yield at
    except InvalidArgumentError as error:
        kind = DTypeError if isinstance(error, DTypeError) else InvalidArgumentError
        said, name = str(error), at.node.name
        raise kind(said if f"Node '{name}'" in said else f"Node '{name}': {said}") from None
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, OpError):
            raise
        raise ArgumentError(
            f"Node '{at.node.name}': {at.node.op} cannot be made of these attributes: {error}"
        ) from None
