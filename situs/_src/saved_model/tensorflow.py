"""Programs that TensorFlow 2 has saved, function by function in the form that Situs writes.

    input: "top:values:0"                        "top:0": results are numbered
    argument w                                   a node w: Captured
    If(a, x, y), PartitionedCall(x, y)           all that they take is captured
    Case(n, x), of three branches                If(n == 0, x), whose other branch is If(n == 1, x)
    While(n, x, w), whose body returns its w     While(n, x), which captures w; every handle of a variable is such a w

A function that takes handles of variables takes variables here, and one that takes tables takes Situs' tables. One that
uses an op that Situs has not is refused when it is called for, with the reason; the others can be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.proto.graph import AttrValue, FunctionDef, NodeDef
from situs._src.base.proto.meta_graph import MetaGraphDef
from situs._src.base.proto.saved_model import SavedObject
from situs._src.base.proto.tensor import DataType, TensorProto, TensorShapeProto, dtype_from_proto
from situs._src.checkpoints.objects import Node
from situs._src.ops.table import Store
from situs._src.runtime.symbolic.composed import find_composed
from situs._src.runtime.symbolic.node_def import GROUP, name_of, op_of
from situs._src.runtime.symbolic.older import older

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_BRANCHES = ("If", "StatelessIf")
_LOOPS = ("While", "StatelessWhile")
_CASES = ("Case", "StatelessCase")
_LISTS = ("trackable_list_wrapper", "trackable_tuple_wrapper")
_SIGNATURES = "signature_map"
_BOOL, _INT, _HANDLE = (DataType.Value(f"DT_{name}") for name in ("BOOL", "INT32", "RESOURCE"))
_ONE = TensorProto(dtype=_INT, tensor_shape=TensorShapeProto(), int_val=[1])


class Rewriter:
    """Rewrites functions of a library when they are asked for.

    Args:
        functions: The functions that TensorFlow has written.
        library: Gets the functions in Situs' form.
    """

    def __init__(self, functions: Iterable[FunctionDef], library: dict[str, FunctionDef]) -> None:
        self.functions = {function.signature.name: function for function in functions}
        self.library = library
        self.names: dict[Any, str] = {}  # of what has been made
        self.around: list[str] = []  # the functions that are being made

    def function(self, name: str, bound: int) -> FunctionDef:
        """A function whose last inputs are variables and constants.

        Args:
            name: Its name.
            bound: How many they are.

        Raises:
            UnimplementedError: it needs what Situs has not.
            InvalidArgumentError: it is not a valid function.
        """
        count = len(self.found(name).signature.input_arg)
        captured = {number: number for number in range(max(0, count - bound), count)}
        return self.library[self.made(name, captured, None)]

    def made(self, name: str, captured: Mapping[int, int], returns: Sequence[int] | None) -> str:
        """The name in the library of one form of a function.

        Args:
            name: The name of the function.
            captured: The inputs that it captures: each with its number among the inputs of the operation.
            returns: The numbers of the results that it returns; all by default.
        """
        key = name, tuple(captured.items()), None if returns is None else tuple(returns)
        if key not in self.names:
            if name in self.around:
                raise ArgumentError(f"The function {shown(name)} calls itself.")
            self.around.append(name)
            try:
                made = _Writer(self, self.found(name)).written(captured, returns)
            finally:
                self.around.pop()
            made.signature.name = f"{name}:{len(self.names)}"
            self.library[made.signature.name] = made
            self.names[key] = made.signature.name
        return self.names[key]

    def found(self, name: str) -> FunctionDef:
        """A function as TensorFlow has written it."""
        if name not in self.functions:
            raise ArgumentError(f"The function {shown(name)} is not in the library of the program.")
        return self.functions[name]


class _Writer:
    """Writes one function."""

    def __init__(self, rewriter: Rewriter, function: FunctionDef) -> None:
        self.rewriter = rewriter
        self.function = function
        self.arguments = {arg.name: number for number, arg in enumerate(function.signature.input_arg)}
        self.nodes = {node.name: node for node in function.node_def}
        self.loops = {node.name: self._varying(node) for node in function.node_def if node.op in _LOOPS}
        self.used: set[str] = set()  # of the arguments

    def written(self, captured: Mapping[int, int], returns: Sequence[int] | None) -> FunctionDef:
        """The function, without its name."""
        made = FunctionDef()
        made.attr["_compares_elements"].b = True
        nodes = [made for node in self.function.node_def for made in self._nodes(node)]
        outputs = self.function.signature.output_arg
        for number in range(len(outputs)) if returns is None else returns:
            name = f"result_{len(made.ret)}"
            made.signature.output_arg.add(name=name, type=outputs[number].type)
            made.ret[name] = self._source(self.function.ret[outputs[number].name])
        for name, number in self.arguments.items():
            if number in captured and name not in self.used:
                continue
            stand_in = self._stand_in(name, number, is_captured=number in captured)
            position = len(made.signature.input_arg)
            dtype = stand_in.attr["dtype"].type
            is_ref = self.function.signature.input_arg[number].type != dtype  # a variable
            made.signature.input_arg.add(name=name, type=dtype, is_ref=is_ref)
            if number in captured:
                made.arg_attr[position].attr["_capture"].i = captured[number]
            made.node_def.append(stand_in)
        made.node_def.extend(nodes)
        return made

    def _stand_in(self, name: str, number: int, is_captured: bool) -> NodeDef:
        """The node of an argument."""
        said = self.function.signature.input_arg[number]
        made = NodeDef(name=name, op="Captured")
        made.attr["dtype"].type = said.type
        if said.type == _HANDLE and len(said.handle_data) == 1 and is_captured:
            made.attr["dtype"].type = said.handle_data[0].dtype
            made.attr["_output_shapes"].list.shape.add().CopyFrom(said.handle_data[0].shape)
        elif number in self.function.arg_attr and "_output_shapes" in self.function.arg_attr[number].attr:
            made.attr["_output_shapes"].CopyFrom(self.function.arg_attr[number].attr["_output_shapes"])
        return made

    # Where an input comes from.

    def _source(self, text: str) -> str:
        """An input of a node as a graph has it."""
        name, _, rest = text.partition(":")
        if name.startswith("^"):
            return text
        if name in self.arguments:
            self.used.add(name)
            return name
        node = self.nodes.get(name)
        if node is None:
            raise ArgumentError(f"Unknown input node '{name}'")
        output, _, position = rest.partition(":")
        if not (position.isascii() and position.isdecimal() and len(position) < 10):
            raise ArgumentError(f"The input '{text}' names no result.")
        number = _number(node, output, int(position))
        if name in self.loops:
            if number >= len(_data(node)):
                raise ArgumentError(f"The loop '{name}' has no result {number}.")
            if number not in self.loops[name]:
                return self._source(node.input[number])  # it goes through unchanged
            number = self.loops[name].index(number)
        return f"{name}:{number}"

    def _varying(self, node: NodeDef) -> list[int]:
        """The numbers of those variables of a loop that its body changes."""
        body = self.rewriter.found(node.attr["body"].func.name)
        given, outputs = body.signature.input_arg, body.signature.output_arg
        if not len(given) == len(outputs) == len(_data(node)):
            raise ArgumentError(f"The loop '{node.name}' and its body do not have the same variables.")
        return [n for n, output in enumerate(outputs) if body.ret[output.name] != given[n].name]

    # Nodes.

    def _nodes(self, node: NodeDef) -> list[NodeDef]:
        if node.op in _LOOPS:
            return [self._loop(node)]
        if node.op in _CASES:
            return self._choice(node)
        return [self._node(node)]

    def _node(self, node: NodeDef) -> NodeDef:
        made = NodeDef(name=node.name, op=node.op)
        made.input.extend([self._source(text) for text in node.input])
        if node.op in _CALLS:
            count = len(_data(node))
            made.op = "PartitionedCall"
            self._set_function(made, node, "f", {number: number for number in range(count)}, None)
            made.attr["_length:args"].i, made.attr["_length:captured"].i = 0, count
            _set_results(made, node, "Tout", None)
        elif node.op in _BRANCHES:
            if node.attr["Tcond"].type not in (0, _BOOL):
                raise UnimplementedError(f"'{node.name}' branches by a number; Situs' If takes a bool.")
            made.op = "If"
            captured = {number: number + 1 for number in range(len(_data(node)) - 1)}
            self._set_function(made, node, "then_branch", captured, None)
            self._set_function(made, node, "else_branch", captured, None)
            _set_results(made, node, "Tout", None)
        else:
            for key, value in node.attr.items():
                if key != "_class":  # what it is colocated with
                    made.attr[key].CopyFrom(value)
        return made

    def _loop(self, node: NodeDef) -> NodeDef:
        made = NodeDef(name=node.name, op="While")
        data, varying = _data(node), self.loops[node.name]
        rest = [number for number in range(len(data)) if number not in varying]
        if not varying:
            raise UnimplementedError(f"The loop '{node.name}' changes nothing.")
        made.input.extend([self._source(data[number]) for number in (*varying, *rest)])
        made.input.extend([text for text in node.input if text.startswith("^")])
        captured = {number: len(varying) + n for n, number in enumerate(rest)}
        self._set_function(made, node, "cond", captured, None)
        self._set_function(made, node, "body", captured, varying)
        made.attr["_length:input"].i, made.attr["_length:captured"].i = len(varying), len(rest)
        _set_results(made, node, "T", varying)
        return made

    def _choice(self, node: NodeDef) -> list[NodeDef]:
        """A branch by a number, the last one if there is none of that number: by whether it is the first one."""
        branches = [each.name for each in node.attr["branches"].list.func]
        if not branches:
            raise ArgumentError(f"'{node.name}' has no branches.")
        sources = [self._source(text) for text in node.input]
        zero = NodeDef(name=f"{node.name}/zero", op="Const")
        zero.attr["dtype"].type = zero.attr["value"].tensor.dtype = _INT
        zero.attr["value"].tensor.tensor_shape.SetInParent()
        zero.attr["value"].tensor.int_val.append(0)
        is_first = NodeDef(name=f"{node.name}/is_first", op="Equal", input=[sources[0], zero.name])
        is_first.attr["T"].type = _INT
        made = NodeDef(name=node.name, op="If", input=[is_first.name, *sources])
        count = len(_data(node)) - 1
        first = {number: number + 2 for number in range(count)}
        made.attr["then_branch"].func.name = self.rewriter.made(branches[0], first, None)
        if len(branches) == 1:
            made.attr["else_branch"].func.name = made.attr["then_branch"].func.name
        else:
            name = self._others(node, branches)
            captured = {number: number + 1 for number in range(count + 1)}
            made.attr["else_branch"].func.name = self.rewriter.made(name, captured, None)
        _set_results(made, node, "Tout", None)
        return [zero, is_first, made]

    def _others(self, node: NodeDef, branches: Sequence[str]) -> str:
        """The name of a function, as TensorFlow would write it, that chooses among the branches but the first."""
        made = FunctionDef()
        one = self.rewriter.found(branches[0])
        made.signature.name = f"{branches[0]}:{len(branches)}:{len(self.rewriter.functions)}"
        made.signature.input_arg.add(name="number", type=_INT)
        for number in range(len(one.signature.input_arg)):
            each = made.signature.input_arg.add()
            each.CopyFrom(
                max((self._argument(name, number) for name in branches), key=lambda said: len(said.handle_data))
            )
            each.name = f"given_{number}"
            if number in one.arg_attr:
                made.arg_attr[number + 1].CopyFrom(one.arg_attr[number])
        made.node_def.add(name="one", op="Const").attr["value"].tensor.CopyFrom(_ONE)
        made.node_def[0].attr["dtype"].type = _INT
        made.node_def.add(name="less", op="Sub", input=["number", "one:output:0"]).attr["T"].type = _INT
        given = [f"given_{number}" for number in range(len(one.signature.input_arg))]
        choice = made.node_def.add(name="choice", op="Case", input=["less:z:0", *given])
        for key in ("Tout", "output_shapes"):
            choice.attr[key].CopyFrom(node.attr[key])
        for name in branches[1:]:
            choice.attr["branches"].list.func.add(name=name)
        for number, dtype in enumerate(node.attr["Tout"].list.type):
            made.signature.output_arg.add(name=f"output_{number}", type=dtype)
            made.ret[f"output_{number}"] = f"choice:output:{number}"
        self.rewriter.functions[made.signature.name] = made
        return str(made.signature.name)

    def _argument(self, name: str, number: int) -> Any:
        arguments = self.rewriter.found(name).signature.input_arg
        if number >= len(arguments):
            raise ArgumentError(f"The branch {shown(name)} takes {len(arguments)} inputs, another one more.")
        return arguments[number]

    def _set_function(
        self, made: NodeDef, node: NodeDef, key: str, captured: Mapping[int, int], returns: Sequence[int] | None
    ) -> None:
        made.attr[key].func.name = self.rewriter.made(node.attr[key].func.name, captured, returns)


def _data(node: NodeDef) -> list[str]:
    """The inputs that are tensors."""
    return [text for text in node.input if not text.startswith("^")]


def _number(node: NodeDef, output: str, position: int) -> int:
    """The number of a result, of which a function says the name of a list and the position in it."""
    if node.op in (*_CALLS, *_BRANCHES, *_LOOPS, *_CASES, "IdentityN"):
        return position
    found = op_of(node)
    outputs, compose = found.outputs, find_composed(name_of(node)) if found.name == GROUP else None
    if compose is not None:
        if output not in compose.results:
            raise UnimplementedError(f"{node.op} has no result {shown(output)} here.")
        return compose.results.index(output) + position
    became = older(node.op, node.attr)
    if became is not None and became.further and output == "backprop":
        return len(outputs)
    if len(outputs) == 1:
        return position
    names = [each.name for each in outputs]
    if output not in names:
        raise UnimplementedError(
            f"{node.op} has the results {', '.join(names)}; '{node.name}' has {shown(output)} too."
        )
    number = names.index(output)
    if any(each.is_list for each in outputs[:number]):
        raise UnimplementedError(f"A result of '{node.name}' comes after a list of them.")
    return number + position


def _set_results(made: NodeDef, node: NodeDef, types: str, kept: Sequence[int] | None) -> None:
    """Says which results a node with functions has."""
    dtypes = node.attr[types].list.type
    shapes = node.attr["output_shapes"].list.shape or node.attr["_output_shapes"].list.shape
    numbers = range(len(dtypes)) if kept is None else kept
    made.attr["_output_types"].list.type.extend([dtypes[number] for number in numbers])
    if len(shapes) == len(dtypes):
        made.attr["_output_shapes"].list.shape.extend([shapes[number] for number in numbers])


# Objects.


def title(name: str) -> str:
    """What a function was called in the program: ``call`` for ``__inference___call___12``."""
    return name.removeprefix("__inference_").rstrip("0123456789").strip("_") or "function"


def signatures(graph: MetaGraphDef) -> dict[str, str]:
    """The functions that are signatures, by the names of these."""
    saved = graph.object_graph_def.nodes
    return {
        child.local_name: saved[child.node_id].bare_concrete_function.concrete_function_name
        for each in saved
        if each.user_object.identifier == _SIGNATURES
        for child in each.children
        if 0 <= child.node_id < len(saved)
    }


def objects(graph: MetaGraphDef) -> list[SavedObject]:
    """The objects, of which those that only functions lead to are left out.

    Raises:
        InvalidArgumentError: an object has a child that is not there.
    """
    saved = [SavedObject.FromString(each.SerializeToString()) for each in graph.object_graph_def.nodes]
    for each in saved:
        if any(not 0 <= child.node_id < len(saved) for child in each.children):
            raise ArgumentError("An object has a child that is not there.")
        kept = [child for child in each.children if _is_shown(each, child.local_name, saved[child.node_id])]
        del each.children[:]
        each.children.extend(kept)
    reached, queue = {0}, [0]
    for number in queue:
        for child in saved[number].children:
            if child.node_id not in reached:
                reached.add(child.node_id)
                queue.append(child.node_id)
    for number, each in enumerate(saved):
        kind = each.WhichOneof("kind")
        if number not in reached and kind in ("function", "bare_concrete_function"):
            each.user_object.identifier = "_generic_user_object"
        elif kind == "function" and each.function.function_spec.is_method:
            _drop_self(each.function.function_spec)
    return saved


def _is_shown(parent: SavedObject, name: str, child: SavedObject) -> bool:
    if parent.WhichOneof("kind") not in ("user_object", "resource") or child.user_object.identifier == _SIGNATURES:
        return False
    return parent.user_object.identifier not in _LISTS or (name.isdecimal() and len(name) < 7)


def _drop_self(spec: Any) -> None:
    for pair in spec.fullargspec.named_tuple_value.values:
        if pair.key == "args":
            del pair.value.list_value.values[:1]
    spec.is_method = False


def aligned(saved: Sequence[SavedObject], nodes: Sequence[Node]) -> list[Node]:
    """The nodes of the graph of a checkpoint that stand for the objects: those that the same names lead to."""
    found: dict[int, Node] = {0: nodes[0]}
    queue = [0]
    for number in queue:
        for child in saved[number].children:
            node = found[number].children.get(child.local_name)
            if node is not None and child.node_id not in found:
                found[child.node_id] = nodes[node]
                queue.append(child.node_id)
    return [found.get(number, Node()) for number in range(len(saved))]


_TABLES = ("HashTableV2", "AnonymousHashTable")
_MUTABLE_TABLES = ("MutableHashTableV2", "AnonymousMutableHashTable")
_SAVED_KEYS, _SAVED_VALUES = "table-keys", "table-values"


def table_store(rewriter: Rewriter, concretes: Iterable[str]) -> Store | None:
    """An empty table like that which functions of TensorFlow make; None if they make no table."""
    for name in concretes:
        for node in rewriter.functions[name].node_def if name in rewriter.functions else ():
            if node.op in (*_TABLES, *_MUTABLE_TABLES):
                keys, values = (dtype_from_proto(node.attr[key].type) for key in ("key_dtype", "value_dtype"))
                return Store(keys, values, is_static=node.op in _TABLES)
    return None


def keys_of_table(key: str) -> tuple[str, str]:
    """What a table that changes is saved under, keys and values, by one of both."""
    folder = key.rpartition("/")[0]
    return f"{folder}/{_SAVED_KEYS}", f"{folder}/{_SAVED_VALUES}"


def constant_attr(graph: MetaGraphDef, name: str) -> AttrValue:
    """The value of a constant of the graph.

    Raises:
        InvalidArgumentError: there is none of that name.
    """
    for node in graph.graph_def.node:
        if node.name == name and node.op == "Const":
            return node.attr["value"]
    raise ArgumentError(f"There is no constant {shown(name)}.")
