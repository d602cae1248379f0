"""SavedModel messages: a graph with its variables, signatures, and objects.

The messages are TensorFlow's. ``SavedModel`` itself is defined here, with its graphs as bytes, which is how nested
messages are encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef, SignatureDef, TensorInfo
from tensorboard.compat.proto.saved_object_graph_pb2 import (
    FunctionSpec,
    SavedConcreteFunction,
    SavedObject,
    SavedObjectGraph,
)
from tensorboard.compat.proto.struct_pb2 import StructuredValue, TypeSpecProto

from situs._src.base.proto.own import documented, message_classes

documented(AssetFileDef, "A file that belongs to a saved program.")
documented(SignatureDef, "What a part of a graph takes and gives: names of tensors, by names for programs.")
documented(TensorInfo, "A tensor of a graph: its name, dtype and shape.")

if TYPE_CHECKING:
    SavedModel = Any
else:
    (SavedModel,) = message_classes(
        __name__,
        {
            "SavedModel": (
                "A program in a file: one graph for each set of tags.",
                {"saved_model_schema_version": (1, "int64"), "meta_graphs": (2, "bytes*")},
            )
        },
    )

__all__ = [
    "AssetFileDef",
    "FunctionSpec",
    "MetaGraphDef",
    "SavedConcreteFunction",
    "SavedModel",
    "SavedObject",
    "SavedObjectGraph",
    "SignatureDef",
    "StructuredValue",
    "TensorInfo",
    "TypeSpecProto",
]
