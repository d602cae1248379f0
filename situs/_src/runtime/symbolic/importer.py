"""`Importer`: turns the nodes of a message, or of one function in it, into operations of a graph.

GraphDef                         Graph
node b: Neg, input "a"           1. sorted              a, b
node a: Const                    2. added one by one    import/a, import/b
library: function f              3. f is imported the same way, into the graph of its node
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, InternalError, InvalidArgumentError, NotFoundError
from situs._src.base.proto.graph import AttrValue, FunctionDef, NodeDef
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.graph.attributes import PLAIN, read_attr, read_plain
from situs._src.ir.graph.context import as_default
from situs._src.ir.graph.function import GIVING, FunctionGraph, captured
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.objects import FUNCTIONS, OBJECT, kind_named
from situs._src.ir.graph.serialize import RESIDUALS
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.graph.verify import verify_operation
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.signature import ANY, Arg
from situs._src.ir.registry.traits import STATE
from situs._src.runtime.symbolic import node_def as read
from situs._src.runtime.symbolic.build import apply
from situs._src.runtime.symbolic.composed import find_composed
from situs._src.runtime.symbolic.node_def import CONTROL, Attrs, Source, parse_input
from situs._src.runtime.symbolic.older import Older, host_attrs, older, today


class Importer:
    """Adds nodes to a graph, which must be the current one.

    Args:
        graph: The graph.
        nodes: The nodes, in any order.
        prefix: The name scope to add them in; it must be open.
        library: The functions that nodes may refer to, by name.
        inputs: Tensors, and operations for control inputs, that replace results of nodes.
        interface: The inputs and outputs of the function that the nodes belong to.
        left_out: Gets the nodes that cannot be added, each with the reason, and those that depend on them; if it is
            not given, such a node is an error.
    """

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[NodeDef],
        prefix: str,
        library: Mapping[str, FunctionDef],
        inputs: Mapping[Source, Any] | None = None,
        interface: Interface | None = None,
        left_out: dict[str, str] | None = None,
    ) -> None:
        self.graph = graph
        self.nodes = list(nodes)
        self.prefix = prefix
        self.library = library
        self.inputs = inputs or {}
        self.interface = interface
        self.used: set[Source] = set()  # of the inputs
        self.made: dict[str, Operation] = {}  # by the names in the message
        self.names = {node.name for node in self.nodes}
        self.taken = {node.name for node in graph.operations}
        self.inner: dict[FunctionGraph, Importer] = {}  # the importers of the nodes' graphs
        self.known: dict[tuple[str, Any], _Known] = {}  # by the op and its serialized attributes
        self.about: dict[str, _Known] = {}  # by the name of a node
        self.further: dict[Source, SymbolicTensor] = {}  # results that only TensorFlow's ops have
        self.left_out = left_out

    def run(self) -> None:
        """Adds the nodes.

        Raises:
            InvalidArgumentError: they are not a valid graph.
            NotFoundError: there is no such op.
        """
        sources = [[parse_input(text) for text in node.input] for node in self.nodes]
        read.check_nodes(self.nodes, sources, self.inputs)
        order = read.in_order(self.nodes, sources, self.inputs)
        with _alone(self.graph):
            if self.left_out is None:
                for node in self.nodes:
                    read.op_of(node)
                with read.blamed() as at:
                    for number in order:
                        at.node = node = self.nodes[number]
                        self._add(node, sources[number])
            else:
                for number in order:
                    self._add_or_leave_out(self.nodes[number], sources[number], self.left_out)
        for node in self.nodes:
            if node.name in self.made:
                self._colocate(node, self.about[node.name].colocations)
        unused = [source for source in self.inputs if source not in self.used and not self._exists(source)]
        if unused:
            raise ArgumentError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(map(str, unused))}]"
            )

    def element(self, text: str) -> SymbolicTensor | Operation:
        """The operation or tensor that was made from a node or its result.

        Raises:
            InvalidArgumentError: there is none of that name.
        """
        name, number = source = parse_input(text)
        if ":" in text and source in self.inputs:
            return self.inputs[source]  # type: ignore[no-any-return]
        node = self.made.get(name)
        if node is None:
            raise ArgumentError(f"Requested return node '{name}' not found in graph def")
        if ":" not in text:
            return node
        if number >= len(node.outputs):
            raise ArgumentError(
                f"Invalid return output {number} of node '{name}', which has {len(node.outputs)} output(s)"
            )
        return node.outputs[number]

    # One node.

    def _add(self, node: NodeDef, sources: list[Source]) -> None:
        name = node.name
        known = self.about[name] = self._about(node)
        taken = None if known.became is None else known.became.takes
        tensors = [self._tensor(source) for source in sources[:taken] if source.number != CONTROL]
        if known.became is not None and known.became.inputs is not None:
            with self.graph.name_scope(f"{self.prefix}/{name}/".removeprefix("/")):
                tensors, hosts = known.became.inputs(tensors)
            known = replace(known, attrs={**known.attrs, **host_attrs(hosts)}, seen={})
        with read.requesting(node, known.colocations):
            if known.op_def is captured:
                made = self._stand_in(name, known.attrs)
            elif known.op_def.name == read.GROUP:
                made = self._group(node, tensors)
            else:
                made = self._operation(self._claim(name), known, tensors)
        self.made[name] = made
        if any(source.number == CONTROL for source in sources):
            self.graph.add_controls(made, [self._control(source) for source in sources if source.number == CONTROL])
        if "_output_shapes" in known.attrs:
            _refine(made, known.attrs)

    def _add_or_leave_out(self, node: NodeDef, sources: list[Source], left_out: dict[str, str]) -> None:
        why = next((left_out[source.name] for source in sources if source.name in left_out), None)
        if why is None:
            try:
                with read.blamed() as at:
                    at.node = node
                    self._add(node, sources)
                return
            except (InvalidArgumentError, NotFoundError) as error:
                why = str(error)
        self.made.pop(node.name, None)
        left_out[node.name] = why

    def _about(self, node: NodeDef) -> _Known:
        """What the op and the attributes of a node determine, computed once for all equal nodes."""
        attrs = node.attr
        key = node.op, _written(node)
        found = self.known.get(key)
        if found is None:
            op_def = read.op_of(node)
            became = older(node.op, attrs)
            attrs = today(node.op, attrs, became, [arg.name for arg in op_def.inputs if arg.is_list])
            found = _Known(op_def, attrs, read.wanted_types(op_def, attrs), read.colocations(node), became)
            # Graphs, and objects made of inputs, are specific to each node.
            if not any(key.startswith(OBJECT) or read.functions_in(attr) for key, attr in attrs.items()):
                found.values = self._values(op_def, attrs, [])
            self.known[key] = found
        return found

    def _operation(self, name: str, known: _Known, tensors: list[SymbolicTensor]) -> Operation:
        op_def, attrs = known.op_def, known.attrs
        args = read.grouped(op_def, attrs, tensors)
        read.check_types(name, op_def, known.wanted, args)
        values = self._values(op_def, attrs, tensors) if known.values is None else known.values
        _check_functions(op_def, values)
        if STATE in op_def.traits and not values.get("shared_name"):
            return self._applied(name, op_def, args, {**values, "shared_name": name})  # as TensorFlow takes none
        if not any(arg.type is ANY for arg in op_def.outputs):
            if known.values is None or not read.takes_tensors(op_def):
                return self._applied(name, op_def, args, values)
            like = tuple([(tensor.dtype.name, tensor.shape._dims) for tensor in tensors])
            seen = known.seen.get(like)  # equal inputs give equal kinds of results
            if seen is None:
                seen = known.seen[like] = self._applied(name, op_def, args, values)
                return seen
            declared = op_def.outputs * len(seen.outputs) if len(op_def.outputs) == 1 else op_def.outputs
            results = [(arg, out.dtype, out.shape) for arg, out in zip(declared, seen.outputs, strict=True)]
            return self.graph.add(op_def, args, seen.attrs, seen.types, results, f"{name}/")
        types = {variable: read_attr(attrs[variable]) for variable in op_def.signature.variables if variable in attrs}
        results = read.declared_results(op_def, attrs)
        made = self.graph.add(op_def, args, op_def.complete_attrs(values), types, results, f"{name}/")
        made.residuals = self._residuals(op_def, attrs, values)
        try:
            verify_operation(made)
        except InternalError as error:
            raise ArgumentError(f"The functions do not fit the node. {error}") from None
        return made

    def _group(self, node: NodeDef, tensors: list[SymbolicTensor]) -> Operation:
        """One operation with several results: the inputs, or what a function makes of them."""
        compose = None if node.op == read.GROUP else find_composed(read.name_of(node))
        full, results = self._claim(node.name), tensors
        if compose is not None:
            with self.graph.name_scope(f"{full}/parts/"):
                results = list(compose.build(tensors, node.attr))
        arg = find_op(read.GROUP).outputs[0]
        declared = [(arg, each.dtype, each.shape) for each in results]
        return self.graph.add(find_op(read.GROUP), (results,), {}, {}, declared, f"{full}/")

    def _residuals(self, op_def: Op, attrs: Attrs, values: dict[str, Any]) -> list[tuple[SymbolicTensor, ...]]:
        """The residuals of the node for gradients: as many tensors at a time as it has graphs with results."""
        names = [item.decode(errors="replace") for item in attrs[RESIDUALS].list.s] if RESIDUALS in attrs else []
        if not names:
            return []
        graphs = [values[name] for name in GIVING.get(op_def.name, ())]
        if not graphs or len(names) % len(graphs):
            raise InvalidArgumentError(
                f"The attr '{RESIDUALS}' names {len(names)} tensors for the {len(graphs)} functions that give results."
            )
        inside = [self.inner[graph] for graph in graphs]
        found = [_result(inside[n % len(graphs)], str(parse_input(name))) for n, name in enumerate(names)]
        return [tuple(found[n : n + len(graphs)]) for n in range(0, len(found), len(graphs))]

    def _applied(self, name: str, op_def: Op, args: tuple[Any, ...], values: dict[str, Any]) -> Operation:
        apply(op_def, args, values, f"{name}/", graph=self.graph)
        return self.graph.get_operation_by_name(name)

    def _claim(self, name: str) -> str:
        """The name in the graph, with a numeric suffix if another operation has it."""
        wanted = full = f"{self.prefix}/{name}" if self.prefix else name
        number = 0
        while full in self.taken or (number and f"{name}_{number}" in self.names):
            number += 1
            full = f"{wanted}_{number}"
        self.taken.add(full)
        return full

    def _values(self, op_def: Op, attrs: Attrs, tensors: list[SymbolicTensor]) -> dict[str, Any]:
        """The attributes that the op declares; others are TensorFlow's own, or redundant with the inputs."""
        values: dict[str, Any] = {}
        for key, attr in attrs.items():
            if key.startswith(OBJECT):
                kind, name = key.removeprefix(OBJECT).split(":", 1)
                named = read.functions_in(attrs.get(f"{FUNCTIONS}{name}", AttrValue()))
                graphs = [self._graph(function, tensors) for function in named]
                values[name] = kind_named(kind).read(attr.s, graphs, tensors)
                continue
            plain = key.removeprefix(PLAIN)
            if plain not in op_def.attr_names:
                continue
            values[plain] = self._value(attr, op_def.attrs.get(key), tensors) if plain == key else read_plain(attr)
        for key in op_def.given_types:
            if not isinstance(values.get(key), DType):
                raise ArgumentError(f"NodeDef missing attr '{key}' from {read.spelled(op_def)}")
        if "shape" in op_def.attrs and op_def.attrs["shape"] is None:
            values.setdefault("shape", UNKNOWN)
        if op_def.name == "Const":
            read.check_constant(values)
        return values

    def _value(self, attr: AttrValue, default: object, tensors: list[SymbolicTensor]) -> Any:
        functions = read.functions_in(attr)
        if not functions:
            value = read_attr(attr, default)
            if isinstance(default, TensorShape) and not isinstance(value, TensorShape):
                raise ArgumentError(f"a shape is wanted where the message has {value!r}")
            return value
        graphs = [self._graph(name, tensors) for name in functions]
        return graphs[0] if attr.WhichOneof("value") == "func" else tuple(graphs)

    def _tensor(self, source: Source) -> SymbolicTensor:
        if source in self.inputs:
            self.used.add(source)
            return self.inputs[source]  # type: ignore[no-any-return]
        if source in self.further:
            return self.further[source]
        outputs = self.made[source.name].outputs
        became = self.about[source.name].became
        if source.number == len(outputs) and became is not None and became.further:
            return self._further(source, became.further)
        if source.number >= len(outputs):
            raise ArgumentError(
                f"Connecting to invalid output {source.number} of source node {source.name} which has {len(outputs)} "
                "outputs."
            )
        return outputs[source.number]

    def _further(self, source: Source, op_name: str) -> SymbolicTensor:
        """A result that the op of a node has in TensorFlow only."""
        node = self.made[source.name]
        build: Any = find_op(op_name)
        with self.graph.name_scope(f"{node.name}/"):
            self.further[source] = build(find_op("OnesLike")(node.outputs[0]), *node.inputs)
        return self.further[source]

    def _control(self, source: Source) -> Operation:
        if source not in self.inputs:
            return self.made[source.name]
        self.used.add(source)
        return self.inputs[source]  # type: ignore[no-any-return]

    def _exists(self, source: Source) -> bool:
        node = self.made.get(source.name)
        return node is not None and source.number < len(node.outputs)

    def _colocate(self, node: NodeDef, names: list[str]) -> None:
        """Adds a node to its colocation group; its device is then that of the first other member that requests one."""
        names = [name for name in names if self.left_out is None or name not in self.left_out]
        for name in names:
            if name not in self.made:
                raise ArgumentError(f"Node '{node.name}' expects to be colocated with unknown node '{name}'")
        made, groups = self.made[node.name], [self.made[name] for name in names]
        made.colocated_with = tuple(dict.fromkeys(other.name for other in groups))
        if read.companions(node, names):
            made.device = next((other.device for other in groups if other is not made and other.device), "")

    # Functions.

    def _stand_in(self, name: str, attrs: Attrs) -> Operation:
        """An input of a function; in a graph that is not a function's, it has to be fed."""
        dtype = read_attr(read.attr_of(captured, attrs, "dtype"))
        shape = (read.output_shapes(attrs) or (UNKNOWN,))[0]
        full = self._claim(name)
        if self.interface is None:
            apply(find_op("Placeholder"), (), {"dtype": dtype, "shape": shape}, f"{full}/", graph=self.graph)
            return self.graph.get_operation_by_name(full)
        outside = self.interface.outside(name)
        known = self.interface.graph.captures
        if outside is not None and outside in known:
            return known[outside].op  # two inputs are the same tensor
        if outside is not None and (outside.dtype is not dtype or not outside.shape.is_compatible_with(shape)):
            raise ArgumentError(f"It stands for {outside!r}, and says it is {dtype.name} of shape {shape}.")
        arg = Arg("output", "dtype", is_ref=outside is not None and outside.is_ref)
        made = self.graph.add(captured, (), {}, {"dtype": dtype}, [(arg, dtype, shape)], f"{full}/")
        if outside is not None:
            known[outside] = made.outputs[0]
        return made

    def _graph(self, name: str, tensors: list[SymbolicTensor]) -> FunctionGraph:
        around = () if self.interface is None else self.interface.around
        if name not in self.library or name in around:
            what = "calls itself" if name in around else "is not in the library of the graph_def"
            raise ArgumentError(f"The function '{name}' {what}.")
        interface = Interface(self.library[name], self.graph, tensors, (*around, name))
        importer = Importer(interface.graph, interface.function.node_def, "", self.library, interface=interface)
        with as_default(interface.graph):
            importer.run()
        interface.finish(importer)
        self.inner[interface.graph] = importer
        return interface.graph


@dataclass(slots=True)
class _Known:
    """What is known about a node from its op and its attributes alone.

    Attributes:
        op_def: The op.
        attrs: The attributes, as in the message.
        wanted: The required dtypes of the inputs, None for any.
        colocations: The names of its colocation groups.
        became: The replacement of its op, if that is an older one.
        values: The values of the attributes; None if there are functions among them.
        seen: Operations made so far, by the dtypes and shapes of their inputs.
    """

    op_def: Op
    attrs: Attrs
    wanted: list[DType | None]
    colocations: list[str]
    became: Older | None = None
    values: dict[str, Any] | None = None
    seen: dict[tuple[Any, ...], Operation] = field(default_factory=dict)


_SMALL = 1000  # bytes: larger nodes contain values of their own


def _written(node: NodeDef) -> Any:
    """A key that is equal for nodes with equal attributes."""
    if node.ByteSize() > _SMALL:
        return node.name
    return frozenset([(name, attr.SerializeToString()) for name, attr in node.attr.items()])


class Interface:
    """The inputs and outputs of a function.

    Args:
        function: The function.
        outer: The graph of the node that refers to it.
        tensors: The inputs of that node.
        around: The names of the enclosing functions, and its own.
    """

    def __init__(
        self, function: FunctionDef, outer: Graph, tensors: Sequence[SymbolicTensor], around: tuple[str, ...]
    ) -> None:
        compares = function.attr.get("_compares_elements")
        self.function = function
        self.graph = FunctionGraph(outer, None if compares is None else compares.b)
        self.tensors = tensors
        self.around = around
        self.numbers = {arg.name: number for number, arg in enumerate(function.signature.input_arg)}

    def outside(self, name: str) -> SymbolicTensor | None:
        """The captured tensor that a node stands for; None if it is an argument.

        Raises:
            InvalidArgumentError: there is no input of this name.
        """
        if name not in self.numbers:
            raise ArgumentError(f"The function '{self.around[-1]}' has no argument of this name.")
        said = self.function.arg_attr.get(self.numbers[name])
        capture = None if said is None else said.attr.get("_capture")
        if capture is None:
            return None
        if not 0 <= capture.i < len(self.tensors):
            raise ArgumentError(f"It stands for input {capture.i} of a node with {len(self.tensors)} inputs.")
        return self.tensors[int(capture.i)]

    def finish(self, importer: Importer) -> None:
        """Records which of the operations are arguments, and which tensors are results."""
        returned = dict(self.function.ret.items())
        names = [arg.name for arg in self.function.signature.input_arg if self.outside(arg.name) is None]
        self.graph.arguments = [_result(importer, f"{name}:0") for name in names]
        for output in self.function.signature.output_arg:
            self.graph.results.append(_result(importer, str(parse_input(returned.get(output.name, "")))))


_FUNCTIONS = frozenset({"cond", "body", "then_branch", "else_branch", "f"})


def _check_functions(op_def: Op, values: dict[str, Any]) -> None:
    for name in op_def.attrs.keys() & _FUNCTIONS:
        if not isinstance(values.get(name), FunctionGraph):
            raise ArgumentError(f"The function {name!r} of {read.spelled(op_def)} is missing")


@contextmanager
def _alone(graph: Graph) -> Iterator[None]:
    """A context without the enclosing colocations; device scopes still apply, for imports as in TensorFlow."""
    before, graph.building.colocations = graph.building.colocations, []
    try:
        yield
    finally:
        graph.building.colocations = before


def _result(importer: Importer, text: str) -> SymbolicTensor:
    found = importer.element(text)
    if not isinstance(found, SymbolicTensor):
        raise ArgumentError(f"A result of a function is a tensor, got {text!r}.")
    return found


def _refine(made: Operation, attrs: Attrs) -> None:
    """Merges the shapes that the node declares for its results.

    The last results, which gradients need, are not always those of TensorFlow's op of the same name.
    """
    shapes = read.output_shapes(attrs)
    if shapes is None:
        return
    for number, (tensor, shape) in enumerate(zip(made.outputs, shapes, strict=False)):
        try:
            tensor.set_shape(shape)
        except InvalidArgumentError as error:
            raise ArgumentError(
                f"Node '{made.name}' has an _output_shapes attribute inconsistent with the GraphDef for output "
                f"#{number}: {error}"
            ) from None
