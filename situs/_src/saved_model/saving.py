"""``tf.saved_model.save``."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.proto.saved_model import (
    FunctionSpec,
    SavedConcreteFunction,
    SavedObject,
    SavedObjectGraph,
)
from situs._src.base.proto.tensor import shape_to_proto
from situs._src.base.tree import put_together
from situs._src.base.typing import PathLike
from situs._src.base.version import __version__
from situs._src.checkpoints.cells import saved as saved_value
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.meta_graph import export_meta_graph
from situs._src.checkpoints.objects import GRAPH_KEY, to_text
from situs._src.checkpoints.writer import Saved as SavedTensor
from situs._src.checkpoints.writer import write
from situs._src.files.paths import local, translated
from situs._src.runtime.eager.bridge import host
from situs._src.saved_model import objects as kinds
from situs._src.saved_model.exporting import Exporter
from situs._src.saved_model.files import ASSETS, variables_prefix, write_model
from situs._src.saved_model.objects import Saved, checkpoint_graph, first_component, objects_of
from situs._src.saved_model.signatures import signature_def, signatures_of
from situs._src.saved_model.structures import written
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method
from situs._src.tracing.parameters import Parameters
from situs._src.tracing.spec import TensorSpec

SERVING = "serve"
ORDER = "signature_names"  # a collection: the names of the signatures in their order
IDENTIFIERS = {
    kinds.OBJECT: "_generic_user_object",
    kinds.LIST: "trackable_list_wrapper",
    kinds.TUPLE: "trackable_tuple_wrapper",
    kinds.DICT: "trackable_dict_wrapper",
}


@export("saved_model.SaveOptions")
class SaveOptions:
    """How a program is saved; accepted for TensorFlow's programs.

    Args:
        namespace_whitelist: Accepted.
        save_debug_info: Accepted.
        function_aliases: Other names for functions, by name.
        experimental_debug_stripper: Accepted.
        experimental_io_device: Accepted: files are on the host.
        experimental_variable_policy: Accepted.
        experimental_custom_gradients: Accepted: gradients are made of the graphs.
        experimental_image_format: Accepted.
        experimental_skip_saver: Accepted.
        experimental_sharding_callback: Accepted.
        extra_tags: Tags to save the graph under, besides ``serve``.
    """

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: Any = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        self.namespace_whitelist = list(namespace_whitelist or [])
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = list(extra_tags or [])


@export(
    "saved_model.save",
    as_is=True,
    differs="What it writes is read by Situs, not by TensorFlow.",
)
def save(obj: Any, export_dir: PathLike, signatures: Any = None, options: SaveOptions | None = None) -> None:
    """Saves an object with its variables and functions, so that another program can use it without its code.

    Saved are the variables and the functions that attributes lead to: of a ``tf.function``, the graphs for the kinds of
    arguments that it has been called with, or that its input signature says. Where operations ran is not saved.

    Args:
        obj: The object: a ``tf.Module``, or a model of Keras'.
        export_dir: The folder to write to; what it has under the same names is replaced.
        signatures: A function to be called by the name ``serving_default``, or functions by name: concrete ones, or
            such with an input signature. By default the one such function that the object has.
        options: How to save it.

    Raises:
        ValueError: the object or a signature cannot be saved.
        AssertionError: a function uses a variable that no attribute leads to.

    Example:
        >>> import tempfile, situs as tf
        >>> class Scale(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = tf.Variable(2.0)
        ...     @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        ...     def __call__(self, x):
        ...         return self.factor * x
        >>> folder = tempfile.mkdtemp()
        >>> tf.saved_model.save(Scale(), folder)
        >>> float(tf.saved_model.load(folder)(3.0))
        6.0
    """
    if here.graph is not None and getattr(here.graph, "runs_effects", False):
        raise StateError(
            "tf.saved_model.save is not supported inside a traced @tf.function. Move the call to the outer "
            "eagerly-executed context."
        )
    if options is not None and not isinstance(options, SaveOptions):
        raise DTypeError(f"`options` is a tf.saved_model.SaveOptions, got {shown(options)}.")
    folder = local(export_dir)
    found = objects_of(obj)
    exporter = Exporter()
    names = {
        number: exporter.add_variable(entry.value) for number, entry in enumerate(found) if entry.kind == kinds.VARIABLE
    }
    objects = _written_objects(found, exporter)
    named = {
        name: signature_def(concrete, exporter.add(concrete, concrete.title))
        for name, concrete in signatures_of(signatures, found).items()
    }
    exported = export_meta_graph(graph=exporter.graph)
    for name, message in named.items():
        exported.signature_def[name].CopyFrom(message)
        exported.collection_def[ORDER].bytes_list.value.append(name.encode())
    for alias, function in (options.function_aliases if options else {}).items():
        for concrete in _concretes(function):
            exported.meta_info_def.function_aliases[exporter.add(concrete, concrete.title).call.name] = alias
    exported.object_graph_def.CopyFrom(objects)
    exported.meta_info_def.tags.extend(dict.fromkeys([SERVING, *(options.extra_tags if options else [])]))
    exported.meta_info_def.tensorflow_version = f"situs {__version__}"
    with translated(folder):
        (folder / ASSETS).mkdir(parents=True, exist_ok=True)
    _write_values(found, names, variables_prefix(folder))
    write_model(folder, [exported])


def _concretes(function: Any) -> list[ConcreteFunction]:
    if isinstance(function, ConcreteFunction):
        return [function]
    if isinstance(function, (Function, Method)):
        return function.concrete_functions_to_save()
    raise DTypeError(f"`function_aliases` are functions by name, got {shown(function)}.")


def _write_values(found: list[Saved], names: dict[int, str], prefix: str) -> None:
    graph = checkpoint_graph(found, names)
    text = np.array(to_text(graph), dtype=object)
    values = [saved_value(variable, None, key) for key, variable in graph.variables]
    path = prefix_path(prefix)
    with translated(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write(path, [SavedTensor(GRAPH_KEY, dt.string, text, host().name), *values])


# Objects.


def _written_objects(found: list[Saved], exporter: Exporter) -> SavedObjectGraph:
    objects = SavedObjectGraph()
    numbers = {id(entry.value): number for number, entry in enumerate(found)}
    for number, entry in enumerate(found):
        if entry.kind == kinds.VARIABLE:
            numbers[id(first_component(entry.value))] = number
    for entry in found:
        made = objects.nodes.add()
        for name, child in entry.children.items():
            made.children.add(node_id=child, local_name=name)
        if entry.kind == kinds.VARIABLE:
            _write_variable(made, entry.value)
        elif entry.kind == kinds.FUNCTION:
            _write_function(made, entry, objects, exporter, numbers)
        elif entry.kind == kinds.CONCRETE:
            key = _write_concrete(entry.value, entry.value.title, objects, exporter, numbers)
            made.bare_concrete_function.concrete_function_name = key
        else:
            made.user_object.identifier = IDENTIFIERS[entry.kind]
            made.user_object.version.producer = made.user_object.version.min_consumer = 1
    return objects


def _write_variable(made: SavedObject, variable: Any) -> None:
    said = made.variable
    said.dtype, said.trainable = variable.dtype.as_datatype_enum, bool(variable.trainable)
    said.shape.CopyFrom(shape_to_proto(variable.shape))
    said.name = variable.name.removesuffix(":0")


def _write_function(
    made: SavedObject, entry: Saved, objects: SavedObjectGraph, exporter: Exporter, numbers: dict[int, int]
) -> None:
    function: Function = entry.value
    made.function.SetInParent()
    concretes = function.concrete_functions_to_save()
    for concrete in concretes:
        made.function.concrete_functions.append(_write_concrete(concrete, function.name, objects, exporter, numbers))
    made.function.function_spec.CopyFrom(_written_spec(function.function_spec, bool(concretes), function.name))


def _write_concrete(
    concrete: ConcreteFunction, title: str, objects: SavedObjectGraph, exporter: Exporter, numbers: dict[int, int]
) -> str:
    """Writes one graph of a function, and returns its name: that of the operation that calls it."""
    exported = exporter.add(concrete, concrete.title)
    key = exported.call.name
    outputs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in concrete.outputs]
    try:
        taken = written(concrete.structured_input_signature)
        returned = written(put_together(concrete.form, outputs, specs=True))
    except DTypeError as error:
        raise ArgumentError(
            f"The function {title} cannot be saved for {concrete.pretty_printed_signature(verbose=False)}: {error}"
        ) from None
    bound = [numbers[id(variable)] for variable in exported.variables]
    objects.concrete_functions[key].CopyFrom(
        SavedConcreteFunction(bound_inputs=bound, canonicalized_input_signature=taken, output_signature=returned)
    )
    return key


class FullArgSpec(NamedTuple):
    """The parameters of a function, as messages have them."""

    args: list[str]
    varargs: str | None
    varkw: str | None
    defaults: tuple[Any, ...] | None
    kwonlyargs: list[str]
    kwonlydefaults: dict[str, Any] | None
    annotations: dict[str, Any]


def _written_spec(parameters: Parameters, needed: bool, title: str) -> FunctionSpec:
    made = FunctionSpec(is_method=False)
    listed = list(parameters.signature.parameters.values())
    kind = inspect.Parameter
    plain = [each for each in listed if each.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)]
    only = [each for each in listed if each.kind is kind.KEYWORD_ONLY]
    defaults = tuple(each.default for each in plain if each.default is not kind.empty)
    spec = FullArgSpec(
        [each.name for each in plain],
        next((each.name for each in listed if each.kind is kind.VAR_POSITIONAL), None),
        next((each.name for each in listed if each.kind is kind.VAR_KEYWORD), None),
        defaults or None,
        [each.name for each in only],
        {each.name: each.default for each in only if each.default is not kind.empty} or None,
        {},
    )
    try:
        made.fullargspec.CopyFrom(written(spec))
    except DTypeError as error:
        if needed:
            raise ArgumentError(f"The function {title} cannot be saved: a default value: {error}") from None
        made.fullargspec.CopyFrom(written(spec._replace(defaults=None, kwonlydefaults=None)))
    signature = parameters.input_signature
    made.input_signature.CopyFrom(written(None if signature is None else signature))
    return made
