"""Signatures of graphs in TensorFlow 1's style: messages that name tensors.

signature = tf.saved_model.predict_signature_def(inputs={"x": x}, outputs={"y": y})
builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.proto.saved_model import SignatureDef, TensorInfo
from situs._src.base.tensor import read
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.saved_model import constants as named
from situs._src.saved_model.signatures import tensor_info


@export(v1=("saved_model.build_tensor_info", "saved_model.utils.build_tensor_info"), as_is=True)
def build_tensor_info(tensor: ArrayLike) -> TensorInfo:
    """A tensor of a graph as a message.

    Args:
        tensor: The tensor, or a variable.

    Raises:
        TypeError: it is not a symbolic tensor.
    """
    found = read(tensor)
    if not isinstance(found, SymbolicTensor):
        raise DTypeError(f"build_tensor_info takes a tensor of a graph, got {shown(tensor)}.")
    return tensor_info(found)


@export(
    v1=("saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info"),
    as_is=True,
)
def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor that a message names.

    Args:
        tensor_info: The message.
        graph: The graph; the default one if it is not given.
        import_scope: What the graph was imported under.

    Raises:
        KeyError: there is none.
    """
    if not isinstance(tensor_info, TensorInfo):
        raise DTypeError(f"A tensor is found by a TensorInfo, got {shown(tensor_info)}.")
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return (get_default_graph() if graph is None else graph).as_graph_element(name)


@export(
    v1=("saved_model.build_signature_def", "saved_model.signature_def_utils.build_signature_def"),
    as_is=True,
)
def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Any = None,
) -> SignatureDef:
    """A signature of tensors that are messages.

    Args:
        inputs: What it takes, by name.
        outputs: What it gives, by name.
        method_name: What it is for, such as ``tensorflow/serving/predict``.
        defaults: Not supported.
    """
    if defaults is not None:
        raise ArgumentError("Signatures have no defaults here: give every input.")
    if not isinstance(method_name, (str, type(None))):
        raise DTypeError(f"`method_name` is a string, got {shown(method_name)}.")
    made = SignatureDef(method_name=method_name or "")
    for given, part in ((inputs, made.inputs), (outputs, made.outputs)):
        if not isinstance(given, (Mapping, type(None))):
            raise DTypeError(f"A signature has a TensorInfo for each name, got {shown(given)}.")
        for name, info in ({} if given is None else given).items():
            if not isinstance(name, str) or not isinstance(info, TensorInfo):
                raise DTypeError(f"A signature has a TensorInfo for each name, got {shown(name)}: {shown(info)}.")
            part[name].CopyFrom(info)
    return made


@export(
    v1=("saved_model.predict_signature_def", "saved_model.signature_def_utils.predict_signature_def"),
    as_is=True,
)
def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """A signature for prediction.

    Args:
        inputs: Tensors that it takes, by name.
        outputs: Tensors that it gives, by name.

    Raises:
        ValueError: there are none.
    """
    for what, given in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(given, Mapping) or not given:
            raise ArgumentError(f"Prediction `{what}` cannot be None or empty: tensors by name, got {shown(given)}.")
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        named.PREDICT_METHOD_NAME,
    )


@export(
    v1=("saved_model.classification_signature_def", "saved_model.signature_def_utils.classification_signature_def"),
    as_is=True,
)
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """A signature for classification.

    Args:
        examples: The tensor of strings that it takes: ``Example`` messages.
        classes: The tensor of strings with the classes; None for none.
        scores: The float tensor with their scores; None for none.

    Raises:
        ValueError: they are of other dtypes, or both results are missing.
    """
    inputs = {named.CLASSIFY_INPUTS: _of(examples, dt.string, "Classification `examples`")}
    outputs = {}
    if classes is not None:
        outputs[named.CLASSIFY_OUTPUT_CLASSES] = _of(classes, dt.string, "Classification `classes`")
    if scores is not None:
        outputs[named.CLASSIFY_OUTPUT_SCORES] = _of(scores, dt.float32, "Classification `scores`")
    if not outputs:
        raise ArgumentError("Classification `classes` and `scores` cannot both be None.")
    return build_signature_def(inputs, outputs, named.CLASSIFY_METHOD_NAME)


@export(
    v1=("saved_model.regression_signature_def", "saved_model.signature_def_utils.regression_signature_def"),
    as_is=True,
)
def regression_signature_def(examples: Any, predictions: ArrayLike) -> SignatureDef:
    """A signature for regression.

    Args:
        examples: The tensor of strings that it takes: ``Example`` messages.
        predictions: The float tensor that it gives.

    Raises:
        ValueError: they are of other dtypes.
    """
    return build_signature_def(
        {named.REGRESS_INPUTS: _of(examples, dt.string, "Regression `examples`")},
        {named.REGRESS_OUTPUTS: _of(predictions, dt.float32, "Regression `predictions`")},
        named.REGRESS_METHOD_NAME,
    )


def _of(tensor: Any, dtype: dt.DType, what: str) -> TensorInfo:
    if tensor is None:
        raise ArgumentError(f"{what} cannot be None.")
    info = build_tensor_info(tensor)
    if info.dtype != dtype.as_datatype_enum:
        raise ArgumentError(f"{what} must be of the dtype {dtype.name}, got {shown(tensor)}.")
    return info


@export(
    v1=("saved_model.is_valid_signature", "saved_model.signature_def_utils.is_valid_signature"),
    as_is=True,
)
def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether a signature is one of the three kinds, with the names and dtypes of its kind."""
    if not isinstance(signature_def, SignatureDef):
        return False
    string, single = dt.string.as_datatype_enum, dt.float32.as_datatype_enum
    inputs = {name: info.dtype for name, info in signature_def.inputs.items()}
    outputs = {name: info.dtype for name, info in signature_def.outputs.items()}
    if signature_def.method_name == named.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if inputs != {named.REGRESS_INPUTS: string} or not outputs:
        return False
    if signature_def.method_name == named.REGRESS_METHOD_NAME:
        return outputs == {named.REGRESS_OUTPUTS: single}
    wanted = {named.CLASSIFY_OUTPUT_CLASSES: string, named.CLASSIFY_OUTPUT_SCORES: single}
    return signature_def.method_name == named.CLASSIFY_METHOD_NAME and outputs.items() <= wanted.items()
