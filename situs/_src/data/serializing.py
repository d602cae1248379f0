"""Serializing datasets as text and functions, for serialized graphs; and reading them.

    Dataset.range(3).map(f)      {"nodes": [{"class": "Range", "args": [...]}, {"class": "Map", "args": [...]}]}
                                 and the graph of f, as a function of the library

A node is described by the arguments of its class: numbers, strings, other nodes by their index in the list, tensors of
the graph by their index among the inputs of the dataset's operation. A dataset that takes elements from Python cannot
be serialized.
"""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.tree import LEAF, Form
from situs._src.checkpoints.strict_json import loads
from situs._src.data import options as _options
from situs._src.data.element import DatasetSpec, Spec
from situs._src.data.fixed_length import _slices
from situs._src.data.function import ElementFunction
from situs._src.data.node import Node
from situs._src.data.records import _records
from situs._src.data.seeding import LateSeed
from situs._src.data.sources import Datasets
from situs._src.data.text import _lines
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.objects import install
from situs._src.ir.graph.plain import NotPlainError
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.eager.convert import to_tensor
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.tracing.spec import TensorSpec

_READERS: dict[str, Callable[..., Any]] = {"lines": _lines, "records": _records, "slices": _slices}
_KINDS: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": OrderedDict}
_PLAIN = (bool, int, float, str, type(None))


class _Writer:
    """Describes the nodes of one dataset.

    Args:
        place: From a tensor of the graph to its place among the inputs of the operation that holds the dataset.
    """

    def __init__(self, place: Callable[[SymbolicTensor], int]) -> None:
        self.place = place
        self.nodes: list[Any] = []
        self.graphs: list[FunctionGraph] = []
        self._numbers: dict[int, int] = {}

    def node(self, node: Node) -> int:
        """The place of a node in the list, after those that it is made of."""
        if id(node) not in self._numbers:
            args, kwargs = node.made_with
            described = {
                "class": type(node).__name__,
                "args": [self.value(arg) for arg in args],
                "kwargs": {name: self.value(arg) for name, arg in kwargs.items()},
            }
            self._numbers[id(node)] = len(self.nodes)
            self.nodes.append(described)
        return self._numbers[id(node)]

    def value(self, value: Any) -> Any:
        """What a class was called with, as JSON has it."""
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.generic):
            return self.value(value.item())
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.value(item) for item in value]}
        for kind, name in _WRITERS:
            if isinstance(value, kind):
                return {name: getattr(self, f"_{name}")(value)}
        raise NotPlainError(f"a Python object of type {type(value).__name__}")

    def _node(self, value: Node) -> int:
        return self.node(value)

    def _input(self, value: SymbolicTensor) -> int:
        return self.place(value)

    def _tensor(self, value: EagerTensor) -> str:
        from situs._src.ir.graph.array_proto import array_to_proto  # here, because it loads protobuf

        return base64.b64encode(array_to_proto(value, value.dtype).SerializeToString()).decode()

    def _dtype(self, value: DType) -> str:
        return value.name

    def _shape(self, value: TensorShape) -> Any:
        return None if value.rank is None else list(value)

    def _leaf(self, value: TensorSpec) -> list[object]:
        return [self._shape(value.shape), value.dtype.name]

    def _dataset_leaf(self, value: DatasetSpec) -> Any:
        return [self._spec(value.spec), self._shape(value.shape)]

    def _spec(self, value: Spec) -> Any:
        return [self.value(value.form), [self.value(leaf) for leaf in value.leaves]]

    def _here(self, value: object) -> Any:
        return None  # a leaf of a form

    def _form(self, value: Form) -> list[object]:
        if _KINDS.get(value.kind.__name__) is not value.kind:
            raise NotPlainError(f"a structure of the class {value.kind.__name__}")
        parts = (value.items, value.keys, value.extra[0] if value.is_mapping else ())
        return [value.kind.__name__, *[self.value(tuple(part)) for part in parts]]

    def _function(self, value: ElementFunction) -> list[object]:
        if any(tensor.is_ref for tensor in value._captured):
            raise NotPlainError("a function that uses a variable")
        self.graphs.append(value._graph)
        number = len(self.graphs) - 1
        return [number, self._spec(value.spec), value._what]

    def _reader(self, value: partial[Any]) -> Any:
        names = [name for name, reader in _READERS.items() if reader is value.func]
        if not names or value.args:
            raise NotPlainError(f"a Python function, {value.func!r}")
        return [names[0], {name: self.value(item) for name, item in value.keywords.items()}]

    def _options(self, value: object) -> Any:
        return [type(value).__name__, {name: self._option(item) for name, item in vars(value).items()}]

    def _option(self, value: object) -> dict[str, Tensor] | int | Tensor:
        if isinstance(value, _options._Fields):
            return {"options": self._options(value)}
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else self.value(value)

    def _late_seed(self, value: LateSeed) -> list[int]:
        return [self.place(value.given), value.globally]

    def _datasets(self, value: Datasets) -> Any:
        if value._nodes is None:
            if not isinstance(value.source, SymbolicTensor):
                raise NotPlainError("an array of datasets")
            return [self._dataset_leaf(value.leaf), None, self.place(value.source)]
        nodes = [self.node(node) for node in value.inputs]
        return [self._dataset_leaf(value.leaf), nodes if isinstance(value._nodes, np.ndarray) else nodes[0], None]


_WRITERS: tuple[tuple[Any, str], ...] = (
    (Node, "node"),
    (SymbolicTensor, "input"),
    (EagerTensor, "tensor"),
    (DType, "dtype"),
    (TensorShape, "shape"),
    (TensorSpec, "leaf"),
    (DatasetSpec, "dataset_leaf"),
    (Spec, "spec"),
    (type(LEAF), "here"),
    (Form, "form"),
    (ElementFunction, "function"),
    (partial, "reader"),
    (_options._Fields, "options"),
    (LateSeed, "late_seed"),
    (Datasets, "datasets"),
)


def described(node: Node, place: Callable[[SymbolicTensor], int]) -> tuple[str, list[FunctionGraph]]:
    """A dataset as text, and the graphs of its functions.

    Raises:
        NotPlainError: there is something of this process in it.
    """
    writer = _Writer(place)
    writer.node(node)
    return json.dumps({"nodes": writer.nodes}, separators=(",", ":")), writer.graphs


class _Reader:
    """Makes the nodes of one dataset again.

    Args:
        tensors: The inputs of the operation that holds it.
        graphs: The graphs of its functions.
    """

    def __init__(self, tensors: Sequence[SymbolicTensor], graphs: Sequence[FunctionGraph]) -> None:
        self._tensors = tensors
        self._graphs = graphs
        self._nodes: list[Node] = []

    def dataset(self, content: Any) -> Node:
        """The dataset that a description is of: the last node."""
        for item in content["nodes"]:
            cls = Node.classes.get(item["class"])
            if cls is None:
                raise InvalidArgumentError(f"There is no dataset of {item['class']!r}.")
            args = [self.value(arg) for arg in item["args"]]
            self._nodes.append(cls(*args, **{str(name): self.value(arg) for name, arg in item["kwargs"].items()}))
        return self._nodes[-1]

    def value(self, content: Any) -> Any:
        """What a class is called with."""
        if isinstance(content, _PLAIN):
            return content
        ((kind, inside),) = content.items()
        if kind in ("list", "tuple"):
            return _KINDS[kind]([self.value(item) for item in inside])
        if kind == "bytes":
            return base64.b64decode(inside)
        if kind not in _NAMES:
            raise InvalidArgumentError(f"There is nothing of the kind {kind!r} in a dataset.")
        return getattr(self, f"_{kind}")(inside)

    def _node(self, content: int) -> Node:
        return self._nodes[content]

    def _input(self, content: int) -> SymbolicTensor:
        if not 0 <= content < len(self._tensors):
            raise InvalidArgumentError(f"The dataset takes input {content} of {len(self._tensors)}.")
        return self._tensors[content]

    def _tensor(self, content: Any) -> EagerTensor:
        from situs._src.base.proto.formats import read_any
        from situs._src.base.proto.tensor import TensorProto
        from situs._src.ir.graph.array_proto import array_from_proto  # here, because it loads protobuf

        array, dtype = array_from_proto(read_any(base64.b64decode(content), TensorProto))
        return to_tensor(array, dtype, device=host())

    def _dtype(self, content: object) -> DType:
        return as_dtype(content)

    def _shape(self, content: Any) -> TensorShape:
        return TensorShape(content)

    def _leaf(self, content: Any) -> TensorSpec:
        return TensorSpec(TensorShape(content[0]), as_dtype(content[1]))

    def _dataset_leaf(self, content: Any) -> DatasetSpec:
        return DatasetSpec(self._spec(content[0]), TensorShape(content[1]))

    def _spec(self, content: Any) -> Spec:
        form, leaves = content
        return Spec(self.value(form), [self.value(leaf) for leaf in leaves])

    def _here(self, content: object) -> Any:
        return LEAF

    def _form(self, content: Any) -> Form:
        kind, items, keys, order = content
        extra = (self.value(order), None) if issubclass(_KINDS[kind], dict) else None
        return Form(_KINDS[kind], self.value(items), self.value(keys), extra)

    def _function(self, content: Any) -> ElementFunction:
        number, spec, what = content
        return ElementFunction.of_graph(self._graphs[number], self._spec(spec), str(what))

    def _reader(self, content: Any) -> partial[Any]:
        name, keywords = content
        return partial(_READERS[name], **{str(key): self.value(item) for key, item in keywords.items()})

    def _options(self, content: Any) -> Any:
        name, fields = content
        cls = getattr(_options, name, None)
        if not isinstance(cls, type) or not issubclass(cls, _options._Fields):
            raise InvalidArgumentError(f"There are no options of {name!r}.")
        made = cls()
        for field, item in fields.items():
            kind, value = cls._names.get(field), self.value(item)
            numbered = value is not None and isinstance(kind, type) and issubclass(kind, int)
            setattr(made, field, kind(value) if numbered else value)  # type: ignore[misc]
        return made

    def _late_seed(self, content: Any) -> LateSeed:
        return LateSeed(self._input(content[0]), content[1])

    def _datasets(self, content: Any) -> Datasets:
        leaf, nodes, place = content
        spec = self._dataset_leaf(leaf)
        if place is not None:
            return Datasets(spec, None, self._input(place))
        if not isinstance(nodes, list):
            return Datasets(spec, self._nodes[nodes])
        made = np.empty(len(nodes), dtype=object)
        made[:] = [self._nodes[number] for number in nodes]
        return Datasets(spec, made)


_NAMES = frozenset(name for _, name in _WRITERS)


def _read(text: bytes, graphs: Sequence[FunctionGraph], tensors: Sequence[SymbolicTensor]) -> Node:
    return _Reader(tensors, graphs).dataset(loads(text))


install(Node, "dataset", described, _read)


def spec_to_json(spec: Spec) -> Any:
    """What elements are, as JSON has it.

    Raises:
        NotPlainError: there are classes of the program's in their structure.
    """
    return _Writer(lambda tensor: 0)._spec(spec)


def spec_from_json(content: Any) -> Spec:
    """What elements are, out of what `spec_to_json` made."""
    try:
        return _Reader((), ())._spec(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArgumentError(f"This does not say what elements are: {content!r} ({error}).") from None
