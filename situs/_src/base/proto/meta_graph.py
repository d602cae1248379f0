"""Graphs with their variables and collections, and the checkpoint list of a folder.

>>> print(CheckpointState(model_checkpoint_path="model-3"), end="")
model_checkpoint_path: "model-3"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.meta_graph_pb2 import CollectionDef, MetaGraphDef
from tensorboard.compat.proto.saver_pb2 import SaverDef
from tensorboard.compat.proto.variable_pb2 import SaveSliceInfoDef, VariableDef

from situs._src.base.export import export
from situs._src.base.proto.own import documented, message_classes

documented(MetaGraphDef, "A graph with its variables and collections.")
documented(CollectionDef, "A collection of a graph: names of its elements, messages as bytes, or numbers.")
documented(SaverDef, "The options of a ``Saver``.")
documented(VariableDef, "A variable of a graph: the names of the operations that make it up.")
documented(SaveSliceInfoDef, "Which part of a larger variable this one is.")

if TYPE_CHECKING:
    CheckpointState = Any
else:
    (CheckpointState,) = message_classes(
        __name__,
        {
            "CheckpointState": (
                "The content of the file ``checkpoint``: the latest checkpoint of a folder, and all that are kept.",
                {
                    "model_checkpoint_path": (1, "string"),
                    "all_model_checkpoint_paths": (2, "string*"),
                    "all_model_checkpoint_timestamps": (3, "double*"),
                    "last_preserved_timestamp": (4, "double"),
                },
            )
        },
    )

__all__ = ["CheckpointState", "CollectionDef", "MetaGraphDef", "SaveSliceInfoDef", "SaverDef", "VariableDef"]

export(v1="MetaGraphDef")(MetaGraphDef)
export(v1="train.SaverDef")(SaverDef)
