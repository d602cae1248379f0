"""``tf.saved_model.load``: objects with the functions and variables of a saved model.

    loaded = tf.saved_model.load(folder)
    loaded(x), loaded.f(x)                              functions, for the kinds of arguments that they were saved with
    loaded.signatures["serving_default"](x=x)           a signature: tensors by name
    loaded.block.w, loaded.trainable_variables          variables, which can be trained further

Models saved by sessions have no objects: the result then has signatures and variables. Programs that TensorFlow 2 has
saved are rewritten first (`saved_model.tensorflow`), function by function as they are called for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType
from situs._src.base.errors import (
    ArgumentError,
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
    SitusError,
    StateError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.proto.formats import from_bytes
from situs._src.base.proto.graph import FunctionDef, NodeDef
from situs._src.base.proto.meta_graph import MetaGraphDef, VariableDef
from situs._src.base.proto.saved_model import SavedObject, SignatureDef
from situs._src.base.proto.tensor import dtype_from_proto, shape_from_proto
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import PathLike
from situs._src.checkpoints.cells import is_variable
from situs._src.checkpoints.meta_graph import is_foreign
from situs._src.checkpoints.objects import Node, children, read_graph
from situs._src.checkpoints.opening import open_plain
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.tracking import AutoTrackable
from situs._src.files.paths import as_text, local, translated
from situs._src.ir.graph.attributes import read_attr
from situs._src.ir.graph.context import init_scope
from situs._src.ops.constant import constant
from situs._src.ops.table import Store
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import wrap
from situs._src.runtime.symbolic.node_def import Source, parse_input
from situs._src.saved_model import tensorflow
from situs._src.saved_model.constants import ASSETS_DIRECTORY
from situs._src.saved_model.files import read_model, variables_prefix, with_tags
from situs._src.saved_model.restored import (
    Body,
    LazyFunction,
    Maker,
    RestoredFunction,
    Signature,
    dictionary,
    form_from,
    keyword_parameters,
    kind_from,
    parameters_from,
    portable,
)
from situs._src.saved_model.saving import IDENTIFIERS, ORDER
from situs._src.saved_model.signatures import INIT
from situs._src.saved_model.structures import read
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.spec import TensorSpec
from situs._src.variables.collections import GraphKeys
from situs._src.variables.eager import Variable

_KINDS = {identifier: kind for kind, identifier in IDENTIFIERS.items()}


@export("saved_model.LoadOptions")
class LoadOptions:
    """How a program is loaded; accepted for TensorFlow's programs.

    Args:
        allow_partial_checkpoint: Accepted.
        experimental_io_device: Accepted: files are on the host.
        experimental_skip_checkpoint: Accepted.
        experimental_variable_policy: Accepted.
        experimental_load_function_aliases: Whether the loaded object has ``function_aliases``, by name.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: Any = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases


class Signatures(Mapping[str, ConcreteFunction]):
    """The signatures of a loaded program, by name, each made when it is first asked for if it is not given."""

    def __init__(self, found: Mapping[str, ConcreteFunction | Callable[[], ConcreteFunction]]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> ConcreteFunction:
        found = self._found[name]
        if not isinstance(found, ConcreteFunction):
            found = self._found[name] = found()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._found!r})"


class Loaded(AutoTrackable):
    """An object of a saved program: it has the attributes that were saved."""

    signatures: Signatures

    def __getattr__(self, name: str) -> Any:
        if name == "variables":
            return tuple(_variables_of(self))
        if name == "trainable_variables":
            return tuple(variable for variable in _variables_of(self) if variable.trainable)
        raise AttributeError(f"The loaded object has no attribute {name!r}", name=name, obj=self)


class LoadedTable(Loaded):
    """A table of a program that TensorFlow has saved, filled when a function that uses it is made.

    Args:
        store: Its keys and values.
    """

    def __init__(self, store: Store) -> None:
        self._self_setattr_tracking = False
        self._store = store
        self._is_asked = not store.is_static
        self._self_setattr_tracking = True

    def filled(self) -> Store:
        """Its keys and values."""
        if not self._is_asked:
            self._self_setattr_tracking = False
            self._is_asked = True  # the function that fills it uses it too
            self.__dict__["_initialize"]()
        return self._store


class LoadedFunction(Loaded):
    """An object of a saved program that could be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function that was saved under the name ``__call__``."""
        return self.__dict__["__call__"](*args, **kwargs)


def _variables_of(root: Any) -> list[Any]:
    """The variables that an object leads to, in the order of their first way."""
    found: dict[int, Any] = {}
    queue, seen = [root], {id(root)}
    for value in queue:  # which grows meanwhile
        for child in children(value).values():
            if is_variable(child):
                found.setdefault(id(child), child)
            elif id(child) not in seen:
                seen.add(id(child))
                queue.append(child)
    return list(found.values())


@export(
    "saved_model.load",
    v1="saved_model.load_v2",
    as_is=True,
    differs="Functions of a program that TensorFlow has saved are refused when they are called if they have ops that "
    "Situs has not. Its objects are not those of Keras.",
)
def load(export_dir: PathLike, tags: Any = None, options: LoadOptions | None = None) -> Any:
    """Loads a program that `tf.saved_model.save` has written, here or in TensorFlow. No code of the file's runs.

    Args:
        export_dir: The folder.
        tags: The tags of the graph to load; those of the only one by default.
        options: How to load it.

    Returns:
        An object with the attributes, variables and functions that were saved, and ``signatures``.

    Raises:
        OSError: there is no program, or it is damaged.
        ValueError: it has no graph with these tags.
    """
    if here.graph is not None and getattr(here.graph, "runs_effects", False):
        raise StateError("A program is loaded outside of functions: call tf.saved_model.load before.")
    if options is not None and not isinstance(options, LoadOptions):
        raise DTypeError(f"`options` is a tf.saved_model.LoadOptions, got {shown(options)}.")
    graph = with_tags(read_model(export_dir), tags, export_dir)
    with init_scope():
        if here.graph is not None:
            raise StateError(
                "Objects are loaded where ops run at once. In a graph of TensorFlow 1 use "
                "tf.compat.v1.saved_model.load(session, tags, export_dir)."
            )
        try:
            return _Loader(graph, export_dir).load(options is not None and options.experimental_load_function_aliases)
        except RecursionError:
            raise DataLossError(f"The program in {as_text(export_dir)} is nested too deep.") from None


class _Loader:
    """Loads one graph of a folder."""

    def __init__(self, graph: MetaGraphDef, export_dir: Any) -> None:
        self.graph = graph
        self.where = as_text(export_dir)
        self.nodes = {node.name: node for node in graph.graph_def.node}
        self.library: dict[str, FunctionDef] = {f.signature.name: f for f in graph.graph_def.library.function}
        self.saved = list(graph.object_graph_def.nodes)
        self.rewriter: tensorflow.Rewriter | None = None
        if self.saved and is_foreign(graph):
            self.library = {}
            self.rewriter = tensorflow.Rewriter(graph.graph_def.library.function, self.library)
            with self._read():
                self.saved = tensorflow.objects(graph)
        self.reader: CheckpointReader | None = None
        self.prefix = variables_prefix(local(export_dir))
        self.objects: dict[int, Any] = {}
        self.by_name: dict[str, Any] = {}  # variables, by the names of their nodes

    def load(self, with_aliases: bool) -> Any:
        """The root, with other names of functions if they are asked for."""
        root = self._objects() if self.saved else self._of_session()
        root._self_setattr_tracking = False
        root.signatures = Signatures(self._signatures())
        root.tensorflow_version = self.graph.meta_info_def.tensorflow_version
        if with_aliases:
            root.function_aliases = self._aliases()
        root._self_setattr_tracking = True
        return root

    @contextmanager
    def _read(self) -> Iterator[None]:
        """A context in which what is wrong with the messages is wrong with the files."""
        try:
            yield
        except (InvalidArgumentError, ValueError, LookupError) as error:
            raise DataLossError(f"The program in {self.where} cannot be read: {error}") from None

    def _signatures(self) -> Mapping[str, ConcreteFunction | Callable[[], ConcreteFunction]]:
        if self.rewriter is not None:
            named = tensorflow.signatures(self.graph).items()
            return {name: partial(self._made_again, function, None, Signature) for name, function in named}
        told = [name.decode(errors="replace") for name in self._collected(ORDER)]
        names = dict.fromkeys([*told, *sorted(self.graph.signature_def)])
        return {
            name: self._signature(name, self.graph.signature_def[name])
            for name in names
            if name in self.graph.signature_def and name != INIT
        }

    def _aliases(self) -> dict[str, Any]:
        named = dict(self.graph.meta_info_def.function_aliases)
        return {
            named[concrete]: self.objects[number]
            for number, saved in enumerate(self.saved)
            for concrete in saved.function.concrete_functions
            if concrete in named
        }

    # Variables.

    def _checkpoint(self) -> CheckpointReader:
        if self.reader is None:
            self.reader = CheckpointReader(self.prefix).open_all()
        return self.reader

    def _variable(self, name: str, key: str, dtype: DType, shape: TensorShape, trainable: bool) -> Variable:
        reader = self._checkpoint()
        entry = reader.entry(key)
        if entry.dtype is not dtype or not shape.is_compatible_with(TensorShape(entry.shape)):
            raise DataLossError(
                f"The variable {shown(name)} is {dtype.name} of shape {shape}, but {self.prefix} has "
                f"{entry.dtype.name} of shape {list(entry.shape)} for it."
            )
        value = wrap(reader.read(key), place(host(), dtype))
        return Variable(value, trainable=trainable, name=f"{name}/" if name else None, dtype=dtype, shape=shape)

    # Objects.

    def _objects(self) -> Any:
        keys = self._keys()
        for number, saved in enumerate(self.saved):
            for child in saved.children:
                if not 0 <= child.node_id < len(self.saved):
                    raise DataLossError(f"An object of {self.where} has a child that is not there.")
            if saved.WhichOneof("kind") == "variable":
                said, key = saved.variable, keys[number].key or ""
                made = self._variable(said.name, key, _dtype(said.dtype), shape_from_proto(said.shape), said.trainable)
                self.objects[number] = self.by_name[keys[number].full_name] = made
        names = {child.node_id: child.local_name for saved in self.saved for child in saved.children}
        for number, saved in enumerate(self.saved):
            if number not in self.objects:
                self.objects[number] = self._made(saved, names.get(number, ""))
        for number, saved in enumerate(self.saved):
            self._attach(number, saved)
        for number, saved in enumerate(self.saved):  # tuples cannot be changed: they are made of what there is now
            if _kind(saved) == "tuple":
                self._replace(number, tuple(self.objects[number]))
        if self.rewriter is not None:
            self._restore_tables(keys)
        return self.objects[0]

    def _restore_tables(self, keys: list[Node]) -> None:
        """Fills tables that change with what the checkpoint has of them."""
        for number, table in self.objects.items():
            saved = tensorflow.keys_of_table(keys[number].key or "")
            if isinstance(table, LoadedTable) and self._checkpoint().has_tensor(saved[0]):
                table.filled().insert(*(self._checkpoint().read(key) for key in saved))

    def _keys(self) -> list[Node]:
        """What the checkpoint says of each object."""
        keys = read_graph(self._checkpoint())
        if keys is not None and self.rewriter is not None:
            return tensorflow.aligned(self.saved, keys.nodes)
        if keys is None or len(keys.nodes) != len(self.saved):
            raise DataLossError(f"The objects and the variables of {self.where} do not belong together.")
        return keys.nodes

    def _made(self, saved: SavedObject, name: str) -> Any:
        kind = saved.WhichOneof("kind")
        if self.rewriter is not None and kind != "user_object":
            return self._of_tensorflow(self.rewriter, saved, name)
        if kind == "function":
            return self._function(saved, name)
        if kind == "bare_concrete_function":
            return self._concrete(saved.bare_concrete_function.concrete_function_name, None).make()
        if kind != "user_object":
            raise DataLossError(f"{self.where} has an object of the kind {kind}, which is not known.")
        made = _kind(saved)
        if made in ("list", "tuple"):
            return []
        if made == "dict":
            return {}
        is_called = any(child.local_name == "__call__" for child in saved.children)
        return LoadedFunction() if is_called else Loaded()

    def _attach(self, number: int, saved: SavedObject) -> None:
        value = self.objects[number]
        named = {child.local_name: self.objects[child.node_id] for child in saved.children}
        if isinstance(value, list):
            wrong = [name for name in named if not name.isdecimal() or int(name) > 10**6]
            if wrong:
                raise DataLossError(f"A list in {self.where} has the child {wrong[0]!r}.")
            for name, child in named.items():
                value += [None] * (int(name) + 1 - len(value))
                value[int(name)] = child
        elif isinstance(value, dict):
            value.update(named)
        elif isinstance(value, Loaded):
            for name, child in named.items():
                setattr(value, name, child)
        elif named:
            raise DataLossError(f"A variable or function of {self.where} has children.")

    def _replace(self, number: int, value: Any) -> None:
        old, self.objects[number] = self.objects[number], value
        for parent, saved in enumerate(self.saved):
            holder = self.objects[parent]
            for child in saved.children:
                if child.node_id != number or holder is old:
                    continue
                if isinstance(holder, list):
                    holder[int(child.local_name)] = value
                elif isinstance(holder, dict):
                    holder[child.local_name] = value
                elif isinstance(holder, Loaded):
                    setattr(holder, child.local_name, value)

    # Functions.

    def _function(self, saved: SavedObject, name: str) -> RestoredFunction:
        said = saved.function
        signature = read(said.function_spec.input_signature)
        parameters = parameters_from(read(said.function_spec.fullargspec), signature)
        if self.rewriter is not None:
            makers = [partial(self._made_again, each, parameters) for each in said.concrete_functions]
            return LazyFunction(name, parameters, makers)
        concretes = [self._concrete(name, parameters).make() for name in said.concrete_functions]
        return RestoredFunction(name, parameters, concretes)

    def _made_again(
        self, name: str, parameters: Any, of: type[ConcreteFunction] = ConcreteFunction
    ) -> ConcreteFunction:
        """A function that TensorFlow has saved.

        Raises:
            UnimplementedError: it needs what Situs has not.
            DataLossError: it is damaged.
        """
        try:
            with init_scope():
                return self._concrete(name, parameters, of).make()
        except UnimplementedError as error:
            raise UnimplementedError(f"The function {shown(name)} of {self.where} cannot be run: {error}") from None

    def _rewritten(self, name: str, bound: int) -> FunctionDef:
        assert self.rewriter is not None
        with self._read():
            try:
                return self.rewriter.function(name, bound)
            except NotFoundError as error:  # an op that Situs has not
                raise UnimplementedError(str(error)) from None

    def _of_tensorflow(self, rewriter: tensorflow.Rewriter, saved: SavedObject, name: str) -> Any:
        """An object of a kind that only TensorFlow writes, or a function."""
        kind = saved.WhichOneof("kind")
        if kind == "function":
            return self._function(saved, name)
        if kind == "bare_concrete_function":
            maker = partial(self._made_again, saved.bare_concrete_function.concrete_function_name, None)
            return LazyFunction(name, None, [maker])
        with self._read():
            if kind == "constant":
                return constant(read_attr(tensorflow.constant_attr(self.graph, saved.constant.operation)))
            if kind == "resource":
                child = {each.local_name: each.node_id for each in saved.children}.get("_create_resource", 0)
                store = tensorflow.table_store(rewriter, self.saved[child].function.concrete_functions)
                return Loaded() if store is None else LoadedTable(store)
            if kind == "asset":
                said = self.graph.asset_file_def[saved.asset.asset_file_def_index].filename
                if PurePath(said).is_absolute() or ".." in PurePath(said).parts:
                    raise ArgumentError(f"the file {shown(said)} is not in its folder of files")
                path = local(self.where) / ASSETS_DIRECTORY / said
                with translated(path):
                    os.close(open_plain(path))
                return constant(str(path))
        return Loaded()

    def _concrete(self, name: str, parameters: Any, of: type[ConcreteFunction] = ConcreteFunction) -> Maker:
        said = self.graph.object_graph_def.concrete_functions.get(name)
        if said is not None and self.rewriter is not None:
            function: FunctionDef | None = self._rewritten(name, len(said.bound_inputs))
        else:
            node = self.nodes.get(name)
            if said is None or node is None or "f" not in node.attr:
                raise DataLossError(f"The function {shown(name)} is not in {self.where}.")
            function = self.library.get(node.attr["f"].func.name)
        if function is None:
            raise DataLossError(f"The graph of the function {shown(name)} is not in {self.where}.")
        structure = read(said.canonicalized_input_signature)
        kind = kind_from(structure)
        form, count = form_from(read(said.output_signature))
        body = self._body(name, function, [self.objects.get(number) for number in said.bound_inputs])
        if len(body.feeds) != len(kind.specs) or len(body.fetches) != count:
            raise DataLossError(
                f"The function {shown(name)} takes {len(kind.specs)} tensors and returns {count}; its graph in "
                f"{self.where} takes {len(body.feeds)} and returns {len(body.fetches)}."
            )
        if of is Signature:
            parameters = keyword_parameters(sorted(structure[1]))
        elif parameters is None:
            parameters = _any_parameters(structure)
        return Maker(body, kind, form, parameters, of)

    def _body(self, name: str, function: FunctionDef, variables: list[Any]) -> Body:
        captured = {
            arg.name: int(function.arg_attr[number].attr["_capture"].i)
            for number, arg in enumerate(function.signature.input_arg)
            if number in function.arg_attr and "_capture" in function.arg_attr[number].attr
        }
        given = [arg.name for arg in function.signature.input_arg if arg.name not in captured]
        bound: dict[str, Any] = {}
        for own, position in captured.items():
            number = position - len(given)
            value = variables[number] if 0 <= number < len(variables) else None
            if isinstance(value, LoadedTable):
                value = value.filled()
            elif isinstance(value, Loaded) and self.rewriter is not None:
                raise UnimplementedError(f"It uses {own!r}, which is neither a variable nor a table.")
            elif not is_variable(value) and not isinstance(value, Tensor):
                raise DataLossError(f"The function {shown(name)} of {self.where} uses what is no variable.")
            bound[own] = value
        fetches = [function.ret[output.name] for output in function.signature.output_arg]
        title = name.rpartition("/")[2] if self.rewriter is None else tensorflow.title(name)
        return Body(list(function.node_def), self.library, [Source(each, 0) for each in given], bound, fetches, title)

    # Signatures, and programs of sessions.

    def _signature(self, name: str, message: SignatureDef) -> ConcreteFunction:
        """A part of the whole graph as a function."""
        try:
            inputs = sorted(message.inputs)
            specs = {
                key: TensorSpec(shape_from_proto(info.tensor_shape), _dtype(info.dtype), key)
                for key, info in message.inputs.items()
            }
            feeds = [parse_input(message.inputs[key].name) for key in inputs]
            outputs = sorted(message.outputs)
            fetches = [message.outputs[key].name for key in outputs]
            used = self._needed(fetches, set(feeds))
        except (SitusError, ValueError, LookupError) as error:
            raise DataLossError(f"The signature {shown(name)} of {self.where} cannot be read: {error}") from None
        variables = {node.name: self.by_name[node.name] for node in used if node.name in self.by_name}
        body = Body(used, self.library, feeds, variables, fetches, f"signature_wrapper_{name}")
        parameters = keyword_parameters(inputs)
        given = {key: specs[key] for key in inputs}
        kind = kind_from(((given[inputs[0]],), {}) if len(inputs) == 1 and _is_positional(parameters) else ((), given))
        return Maker(body, kind, dictionary(outputs), parameters, Signature).make()

    def _needed(self, fetches: list[str], feeds: set[Source]) -> list[NodeDef]:
        """The nodes that some tensors depend on, without feeds and without initializers of variables."""
        found: dict[str, NodeDef] = {}
        queue = [parse_input(text) for text in fetches]
        for source in queue:
            if source in feeds or source.name in found:
                continue
            node = self.nodes.get(source.name)
            if node is None:
                raise ArgumentError(f"there is no node {source.name!r}")
            found[node.name] = node
            if node.name not in self.by_name:
                queue += [parse_input(text) for text in node.input]
        return [portable(node, self.by_name) for node in found.values()]

    def _of_session(self) -> Loaded:
        """What a session has saved: variables by name."""
        made: dict[str, Variable] = {}
        trainable = {_variable_def(text).variable_name for text in self._collected(GraphKeys.TRAINABLE_VARIABLES)}
        for text in self._collected(GraphKeys.GLOBAL_VARIABLES):
            said = _variable_def(text)
            name = said.variable_name.partition(":")[0]
            node = self.nodes.get(name)
            if node is None or "dtype" not in node.attr:
                raise DataLossError(f"The variable {shown(name)} is not in the graph of {self.where}.")
            dtype, shape = _dtype(node.attr["dtype"].type), shape_from_proto(node.attr["shape"].shape)
            made[name] = self._variable(name, name, dtype, shape, said.variable_name in trainable)
        self.by_name = dict(made)
        root = Loaded()
        root.variables = list(made.values())
        return root

    def _collected(self, name: str) -> list[bytes]:
        return list(self.graph.collection_def[name].bytes_list.value) if name in self.graph.collection_def else []


def _kind(saved: SavedObject) -> str:
    if saved.WhichOneof("kind") != "user_object":
        return ""
    return _KINDS.get(saved.user_object.identifier, "object")


def _dtype(number: int) -> DType:
    try:
        return dtype_from_proto(number)
    except (SitusError, ValueError, LookupError) as error:
        raise DataLossError(f"A dtype cannot be read: {error}") from None


def _variable_def(text: bytes) -> VariableDef:
    return from_bytes(text, VariableDef)


def _is_positional(parameters: Any) -> bool:
    return any(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters.signature.parameters.values())


def _any_parameters(structure: Any) -> Any:
    """The parameters of a concrete function that was saved by itself: by the names of its arguments."""
    names = [
        spec.name if isinstance(spec, TensorSpec) and spec.name else f"arg_{n}" for n, spec in enumerate(structure[0])
    ]
    spec = type("Spec", (), {})()
    spec.args, spec.varargs, spec.varkw, spec.defaults = names, None, None, None
    spec.kwonlyargs, spec.kwonlydefaults = sorted(structure[1]), None
    return parameters_from(spec, None)
