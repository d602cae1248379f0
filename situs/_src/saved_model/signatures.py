"""Signatures: named functions of a saved model that take and return tensors by name.

tf.saved_model.save(module, path, signatures=module.f)                     {"serving_default": ...}
loaded.signatures["serving_default"](x=tensor)                             {"output_0": ...}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.proto.saved_model import SignatureDef, TensorInfo
from situs._src.base.proto.tensor import shape_to_proto
from situs._src.base.tensor import Tensor
from situs._src.base.tree import flatten, put_together
from situs._src.saved_model.exporting import Exported
from situs._src.saved_model.objects import Saved
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function, Method

DEFAULT = "serving_default"
INIT = "__saved_model_init_op"
PREDICT = "tensorflow/serving/predict"
_OF_KERAS = "_default_save_signature"


def signatures_of(signatures: Any, found: list[Saved]) -> dict[str, ConcreteFunction]:
    """The functions that are to be called by name.

    Args:
        signatures: What the program gave: a function, or functions by name; None to look for one.
        found: The objects that are saved.

    Raises:
        ValueError: they are not functions that have one graph.
    """
    if signatures is None:
        default = _default(found)
        return {} if default is None else {DEFAULT: default}
    given = signatures if isinstance(signatures, Mapping) else {DEFAULT: signatures}
    made: dict[str, ConcreteFunction] = {}
    for name, function in given.items():
        if not isinstance(name, str) or name == INIT:
            raise ArgumentError(f"Expected the name of a signature, a string other than {INIT!r}; got {shown(name)}.")
        concrete = _concrete(function)
        if concrete is None:
            raise ArgumentError(
                f"Expected a TensorFlow function for which to generate a signature, but got {shown(function)}. Only "
                "`tf.functions` with an input signature or concrete functions can be used as a signature."
            )
        made[name] = concrete
    return made


def _default(found: list[Saved]) -> ConcreteFunction | None:
    """The one function of the root that could be a signature."""
    root = found[0]
    try:
        own = getattr(root.value, _OF_KERAS, None)
    except Exception:  # a property of the program's, which need not be able to say
        own = None
    if own is not None:
        return _concrete(own)
    functions = [found[number].value for number in root.children.values()]
    concrete = [made for made in map(_concrete, functions) if made is not None and _fits(made)]
    return concrete[0] if len(concrete) == 1 else None


def _fits(concrete: ConcreteFunction) -> bool:
    try:
        return bool(output_names(concrete))
    except ArgumentError:
        return False


def _concrete(function: Any) -> ConcreteFunction | None:
    if isinstance(function, (Function, Method)) and function.input_signature is not None:
        concrete = function.get_concrete_function()
        return function.for_one_replica(concrete)
    return function if isinstance(function, ConcreteFunction) else None


def input_names(concrete: ConcreteFunction) -> list[str]:
    """The names of the tensors that a function takes."""
    return concrete.function_spec.flat_names(concrete.kind)


def output_names(concrete: ConcreteFunction) -> list[str]:
    """The names of the tensors that a function returns: its own, if it returns a dictionary.

    Raises:
        ValueError: it returns something else than tensors.
    """
    returned = put_together(concrete.form, concrete.outputs)
    if isinstance(returned, Mapping):
        names = sorted(returned) if all(isinstance(key, str) for key in returned) else []
        if len(names) < len(returned) or not all(isinstance(item, Tensor) for item in returned.values()):
            raise ArgumentError(
                "Got a dictionary with keys that are no strings, or values that are no tensors, from the signature "
                f"function {concrete.name}: {shown(returned)}. A signature returns a dictionary of tensors by name, a "
                "sequence of tensors, or a tensor."
            )
        return names
    leaves = [leaf for leaf in flatten(returned) if leaf is not None]
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ArgumentError(
            f"Got {shown(returned)} from the signature function {concrete.name}. A signature returns a dictionary of "
            "tensors by name, a sequence of tensors, or a tensor."
        )
    return [f"output_{number}" for number in range(len(leaves))]


def signature_def(concrete: ConcreteFunction, exported: Exported) -> SignatureDef:
    """A signature as a message."""
    made = SignatureDef(method_name=PREDICT)
    for name, node in zip(input_names(concrete), exported.arguments, strict=True):
        made.inputs[name].CopyFrom(tensor_info(node.outputs[0]))
    for name, tensor in zip(output_names(concrete), exported.call.outputs, strict=True):
        made.outputs[name].CopyFrom(tensor_info(tensor))
    return made


def tensor_info(tensor: Any) -> TensorInfo:
    """A tensor of a graph as a message."""
    return TensorInfo(name=tensor.name, dtype=tensor.dtype.as_datatype_enum, tensor_shape=shape_to_proto(tensor.shape))
