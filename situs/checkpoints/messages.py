"""The messages that checkpoints are described with; fields and numbers are TensorFlow's.

>>> print(CheckpointState(model_checkpoint_path="model-3"))
model_checkpoint_path: "model-3"
<BLANKLINE>
"""

from __future__ import annotations

from situs.proto.enums import EnumType
from situs.proto.field import MessageMapField, Nested, RepeatedScalar, Scalar
from situs.proto.graph import GraphDef
from situs.proto.kind import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING
from situs.proto.message import Message
from situs.proto.variable import VariableDef as VariableDef


class CheckpointState(Message):
    """The content of the file ``checkpoint``: the latest checkpoint of a folder, and all that are kept."""

    model_checkpoint_path = Scalar(1, STRING)
    all_model_checkpoint_paths = RepeatedScalar(2, STRING)
    all_model_checkpoint_timestamps = RepeatedScalar(3, DOUBLE)
    last_preserved_timestamp = Scalar(4, DOUBLE)


class SaverDef(Message):
    """The options of a ``Saver``."""

    CheckpointFormatVersion = EnumType("CheckpointFormatVersion", LEGACY=0, V1=1, V2=2)
    LEGACY, V1, V2 = 0, 1, 2

    filename_tensor_name = Scalar(1, STRING)
    save_tensor_name = Scalar(2, STRING)
    restore_op_name = Scalar(3, STRING)
    max_to_keep = Scalar(4, INT32)
    sharded = Scalar(5, BOOL)
    keep_checkpoint_every_n_hours = Scalar(6, FLOAT)
    version = Scalar(7, CheckpointFormatVersion)


class CollectionDef(Message):
    """A collection of a graph: names of its elements, messages as bytes, or numbers."""

    class NodeList(Message):
        """Names of operations and tensors."""

        value = RepeatedScalar(1, STRING)

    class BytesList(Message):
        """Messages, such as ``VariableDef``, or strings."""

        value = RepeatedScalar(1, BYTES)

    class Int64List(Message):
        """Whole numbers."""

        value = RepeatedScalar(1, INT64)

    class FloatList(Message):
        """Numbers."""

        value = RepeatedScalar(1, FLOAT)

    node_list = Nested(1, NodeList, oneof="kind")
    bytes_list = Nested(2, BytesList, oneof="kind")
    int64_list = Nested(3, Int64List, oneof="kind")
    float_list = Nested(4, FloatList, oneof="kind")


class MetaGraphDef(Message):
    """A graph with its variables and collections."""

    class MetaInfoDef(Message):
        """Who made it, and what for."""

        meta_graph_version = Scalar(1, STRING)
        tags = RepeatedScalar(4, STRING)
        tensorflow_version = Scalar(5, STRING)
        stripped_default_attrs = Scalar(7, BOOL)

    meta_info_def = Nested(1, MetaInfoDef)
    graph_def = Nested(2, GraphDef)
    saver_def = Nested(3, SaverDef)
    collection_def = MessageMapField(4, STRING, CollectionDef)
